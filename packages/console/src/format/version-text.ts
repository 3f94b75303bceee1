// Versions of Kubernetes as lists show them.

/** Without build metadata: `v1.36.2` of `v1.36.2+k3s1`. */
export const versionText = (version: string): string => version.split("+")[0] ?? version;
