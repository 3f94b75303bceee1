// The documentation as its build hands it over.

export type DocumentationBuild = {
  /** Compressed with brotli, as base64: a line of JSON (DocumentsHead), then the HTML of all pages. */
  readonly documents: string;
  /** CSS of all pages, for each theme that a user can choose. */
  readonly styles: { readonly [theme in "system" | "light" | "dark"]: string };
};

export type DocumentsHead = {
  readonly navigation: readonly {
    readonly title: string;
    readonly pages: readonly { readonly path: string; readonly title: string }[];
  }[];
  /** By address, such as `/docs/guides/ci`: bytes after the line, from the first to the one behind the last. */
  readonly places: {
    readonly [address: string]: { readonly title: string; readonly from: number; readonly to: number };
  };
};
