// The keys of a resource's objects in the store: the part before namespace and name is common to them, and to no others.

/** The core group has an empty name, which would make an empty path segment. */
const CORE = "core";

/** Keys of a resource are `/registry/<composition>/<group>/<resource>/[<namespace>/]<name>`. */
export type ResourceKeys = {
  /** Everything of this resource. */
  readonly prefix: string;
  /** The prefix of one namespace; "" for all namespaces. */
  inNamespace(namespace: string): string;
  of(namespace: string, name: string): string;
  /** Name and namespace of a key; namespace is "" for cluster-scoped resources. */
  parse(key: string): { readonly namespace: string; readonly name: string };
};

export type ResourceLocation = { readonly group: string; readonly resource: string; readonly namespaced: boolean };

/** `composition` names the API surface the objects belong to, since one store holds many. It has no slash. */
export function createResourceKeys(
  composition: string,
  { group, resource, namespaced }: ResourceLocation,
): ResourceKeys {
  const prefix = `/registry/${composition}/${group === "" ? CORE : group}/${resource}/`;
  return {
    prefix,
    inNamespace: (namespace) => (namespaced && namespace !== "" ? `${prefix}${namespace}/` : prefix),
    of: (namespace, name) => (namespaced ? `${prefix}${namespace}/${name}` : `${prefix}${name}`),
    parse(key) {
      const rest = key.slice(prefix.length);
      if (!namespaced) return { namespace: "", name: rest };
      const slash = rest.indexOf("/");
      return { namespace: rest.slice(0, slash), name: rest.slice(slash + 1) };
    },
  };
}

/** `/registry/<composition>/<group>/<resource>/` of a key below it; undefined when the key has fewer segments. */
export function viewPrefixOf(key: string): string | undefined {
  let slash = 0;
  for (let segment = 0; segment < 4; segment++) {
    slash = key.indexOf("/", slash + 1);
    if (slash < 0) return undefined;
  }
  return key.slice(0, slash + 1);
}
