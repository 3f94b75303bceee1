// Names that a Kubernetes cluster gives to its own parts: nobody gets one inside a virtual cluster.

const SYSTEM_PREFIX = "system:";

export const isSystemName = (name: string): boolean => name.startsWith(SYSTEM_PREFIX);
