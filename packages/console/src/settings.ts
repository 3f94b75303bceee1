// What the server says of itself in the page: the names that its API goes by.

export type Settings = {
  readonly name: string;
  readonly domain: string;
  readonly managementGroup: string;
  readonly storageGroup: string;
  readonly projectNamespacePrefix: string;
};

const DEFAULTS: Settings = {
  name: "postern",
  domain: "postern",
  managementGroup: "management.postern",
  storageGroup: "storage.postern",
  projectNamespacePrefix: "p-",
};

/** With live reload the page comes from elsewhere, and has none. */
function readSettings(): Settings {
  const told = globalThis.document?.querySelector('meta[name="postern"]')?.getAttribute("content") ?? "{}";
  return { ...DEFAULTS, ...(JSON.parse(told) as Partial<Settings>) };
}

export const settings: Settings = readSettings();

/** The project that a namespace belongs to. */
export const projectOf = (namespace: string): string =>
  namespace.startsWith(settings.projectNamespacePrefix)
    ? namespace.slice(settings.projectNamespacePrefix.length)
    : namespace;

export const namespaceOf = (project: string): string => `${settings.projectNamespacePrefix}${project}`;
