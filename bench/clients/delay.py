#!/usr/bin/env python3
"""A server that is further away: delay.py FROM TO MILLISECONDS.

Listens on the unix socket FROM, and connects whoever comes to the unix socket TO. What is sent to TO
arrives so much later, so that each round trip takes so much longer; what comes back is not delayed.
"""

import os
import queue
import socket
import sys
import threading
import time

listen_on, connect_to, delay = sys.argv[1], sys.argv[2], float(sys.argv[3]) / 1000


def read(source, put):
    """Calls a function with what comes, and at the end with nothing."""
    data = b"begin"
    while data:
        try:
            data = source.recv(65536)
        except OSError:
            data = b""
        put(data)


def send(target, data):
    try:
        if data:
            target.sendall(data)
        else:
            target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # the other end is gone, and its own reader sees to that


def send_later(target, waiting):
    data = b"begin"
    while data:
        due, data = waiting.get()
        time.sleep(max(0, due - time.monotonic()))
        send(target, data)


def connect(client):
    server = socket.socket(socket.AF_UNIX)
    server.connect(connect_to)
    waiting = queue.SimpleQueue()
    for work in (
        lambda: read(client, lambda data: waiting.put((time.monotonic() + delay, data))),
        lambda: send_later(server, waiting),
        lambda: read(server, lambda data: send(client, data)),
    ):
        threading.Thread(target=work, daemon=True).start()


with socket.socket(socket.AF_UNIX) as listener:
    # Whoever waits for the socket's name to appear can connect to it.
    listener.bind(listen_on + ".new")
    listener.listen()
    os.rename(listen_on + ".new", listen_on)
    while True:
        connect(listener.accept()[0])
