// What this library uses of pg, of which each version from 8 on has all. So users need no types of pg.
declare module 'pg' {
  interface Result {
    rows: Record<string, string>[];
  }

  class Client {
    constructor(config: object);
    readonly database: string;
    /** Not documented: the socket, to be destroyed when nobody answers. */
    readonly connection?: { stream?: { destroy(): void } };
    connect(): Promise<void>;
    query(text: string, values?: string[]): Promise<Result>;
    end(): Promise<void>;
    on(event: 'error' | 'end', listener: () => void): this;
    ref?(): void;
    unref?(): void;
  }

  const pg: { Client: typeof Client };
  namespace pg {
    type Client = InstanceType<typeof import('pg').default.Client>;
  }
  export default pg;
}
