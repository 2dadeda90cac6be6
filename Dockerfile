# The official image of PostgreSQL with flakeid:
#
#   docker build --tag flakeid .
#   docker build --tag flakeid:15 --build-arg PG_MAJOR=15 .
#
# It is used as the official one is. In each database that is to mint ids:
# CREATE EXTENSION flakeid.

ARG PG_MAJOR=17
ARG DEBIAN_RELEASE=bookworm
FROM postgres:$PG_MAJOR-$DEBIAN_RELEASE
ARG PG_MAJOR

COPY . /usr/src/flakeid

# What is needed only to build goes in the same layer in which it came.
RUN set -eux; \
	manual=$(apt-mark showmanual); \
	apt-get update; \
	apt-get install -y --no-install-recommends \
		gcc \
		libc6-dev \
		libssl-dev \
		libxxhash-dev \
		make \
		"postgresql-server-dev-$PG_MAJOR"; \
	cd /usr/src/flakeid; \
	pg_config=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config; \
	make PG_CONFIG="$pg_config"; \
	make PG_CONFIG="$pg_config" install; \
	install -D -m 644 -t /usr/share/doc/flakeid LICENSE README.md; \
	cd /; \
	rm -rf /usr/src/flakeid; \
	apt-mark auto '.*' >/dev/null; \
	apt-mark manual $manual >/dev/null; \
	apt-get purge -y --auto-remove -o APT::AutoRemove::RecommendsImportant=false; \
	rm -rf /var/lib/apt/lists/*
