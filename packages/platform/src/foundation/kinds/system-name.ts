// Names that Kubernetes reserves for its own components, and trusts in built-in bindings.

/** No caller has such a name, or group, inside a virtual cluster. */
export const isSystemName = (name: string): boolean => name.startsWith("system:");
