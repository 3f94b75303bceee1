// The module that tools/release/documentation-build.ts writes to dist/documentation.js.

export declare const documents: string;
export declare const styles: { readonly [theme in "system" | "light" | "dark"]: string };
