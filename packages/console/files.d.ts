// The module that tools/release/console-build.ts writes to dist/files.js.

export declare const page: string;
export declare const inlineScripts: readonly string[];
export declare const inlineStyles: readonly string[];
export declare const files: readonly {
  readonly path: string;
  readonly contentType: string;
  readonly brotli: string;
  readonly gzip: string;
}[];
