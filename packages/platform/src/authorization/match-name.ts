// How names in scopes, rules and access lists are compared: exactly, or all of them by a star that stands alone.

/** `*` counts only as the whole value; within a longer one it is an ordinary character. */
export const matchesName = (pattern: string, name: string): boolean =>
  pattern === name || (pattern === "*" && name !== "");

export const matchesAnyName = (patterns: readonly string[], name: string): boolean =>
  patterns.some((pattern) => matchesName(pattern, name));
