// Names that Kubernetes reserves for its own components: no caller has one inside a virtual cluster.

const SYSTEM_PREFIX = "system:";

export const isSystemName = (name: string): boolean => name.startsWith(SYSTEM_PREFIX);
