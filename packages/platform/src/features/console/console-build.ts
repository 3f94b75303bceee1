// The console as its build hands it over: static files that are compressed already, and the page that loads them.

export type ConsoleFile = {
  /** Where browsers find it: below `/console/`, with a hash of the content in its name. */
  readonly path: string;
  readonly contentType: string;
  /** The content in both encodings, as base64. */
  readonly brotli: string;
  readonly gzip: string;
};

export type ConsoleBuild = {
  /** HTML. `content="{}"` in it makes room for the server's settings. */
  readonly page: string;
  /** Hashes of the scripts in the page itself: base64 of SHA-256. */
  readonly inlineScripts: readonly string[];
  readonly inlineStyles: readonly string[];
  readonly files: readonly ConsoleFile[];
};

/** Settings that the page needs before sign-in. */
export type ConsoleSettings = {
  readonly name: string;
  readonly domain: string;
  readonly managementGroup: string;
  readonly storageGroup: string;
  readonly projectNamespacePrefix: string;
};
