// Reads the imports of a source file.

const IMPORT = /(?:import|export)\s[^"';]*?from\s*"([^"]+)"|import\s*\(\s*"([^"]+)"\s*\)|import\s+"([^"]+)"/g;

/** Imports in docstrings are examples. */
export const importsOf = (source: string): readonly string[] =>
  [...source.replaceAll(/^ *\*.*$/gm, "").matchAll(IMPORT)].map(
    ([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? "",
  );

/** Tests and their shared code may import anything. */
export const isTest = (path: string): boolean => /\.test\.ts$|\/testing\//.test(path);

/** The file that a relative import of `path` names. */
export function targetOf(path: string, imported: string): string {
  return new URL(imported, `file:///${path}`).pathname.slice(1);
}
