// Caches a value that is built from the set of resources until the set changes.

/** Builds on the first call, and again on the first call after `revision` has moved. */
export function perRevision<T>(revision: () => number, build: () => T): () => T {
  let built: { readonly revision: number; readonly value: T } | undefined;
  return () => {
    const current = revision();
    if (built?.revision !== current) built = { revision: current, value: build() };
    return built.value;
  };
}

/** A value that is built when it is first asked for. */
export function lazily<T>(build: () => T): () => T {
  return perRevision(() => 0, build);
}
