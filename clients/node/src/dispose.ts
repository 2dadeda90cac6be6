// `await using`, where Node.js has Symbol.asyncDispose.

/// <reference lib="esnext.disposable" preserve="true" />

/** Has objects of a class closed at the end of the block that declares them with `await using`. */
export function disposeByClose(type: { prototype: { close(): Promise<void> } }): void {
  if (typeof Symbol.asyncDispose !== 'symbol') return;
  Object.defineProperty(type.prototype, Symbol.asyncDispose, {
    value(this: { close(): Promise<void> }) {
      return this.close();
    },
    configurable: true,
    writable: true,
  });
}
