// Version and commit of this build.

/** `commit` is a Git hash or empty; `date` is RFC 3339, UTC. */
export type BuildInfo = { readonly version: string; readonly commit: string; readonly date: string };

/** The bundler replaces the name by a value: tools/release/bundle-command.ts. */
declare const POSTERN_BUILD: BuildInfo | undefined;

const FROM_SOURCES: BuildInfo = { version: "0.1.0-dev", commit: "", date: "1970-01-01T00:00:00Z" };

export const BUILD_INFO: BuildInfo = typeof POSTERN_BUILD === "undefined" ? FROM_SOURCES : POSTERN_BUILD;
