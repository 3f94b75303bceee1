// Settings that the server writes into the page: the names of its API groups.

export type Settings = {
  readonly name: string;
  readonly domain: string;
  readonly managementGroup: string;
  readonly storageGroup: string;
  readonly projectNamespacePrefix: string;
  /** The version of the server; empty with live reload. */
  readonly version: string;
};

const DEFAULTS: Settings = {
  name: "postern",
  domain: "postern",
  managementGroup: "management.postern",
  storageGroup: "storage.postern",
  projectNamespacePrefix: "p-",
  version: "",
};

/** With live reload the page comes from elsewhere, and has no settings. */
function readSettings(): Settings {
  const told = globalThis.document?.querySelector('meta[name="postern"]')?.getAttribute("content") ?? "{}";
  return { ...DEFAULTS, ...(JSON.parse(told) as Partial<Settings>) };
}

export const settings: Settings = readSettings();

/** The project of a namespace. */
export const projectOf = (namespace: string): string =>
  namespace.startsWith(settings.projectNamespacePrefix)
    ? namespace.slice(settings.projectNamespacePrefix.length)
    : namespace;

export const namespaceOf = (project: string): string => `${settings.projectNamespacePrefix}${project}`;
