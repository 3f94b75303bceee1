// Guarantees that depend on the release of etcd.

/**
 * Whether the answer to a progress request arrives after all events up to its revision. In older releases it may overtake them.
 * Source: k8s.io/apiserver/pkg/storage/etcd3/feature/feature_support_checker.go
 */
export function hasOrderedProgress(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  if (major !== 3) return major > 3;
  if (minor === 4) return patch >= 31;
  if (minor === 5) return patch >= 13;
  return minor > 5;
}
