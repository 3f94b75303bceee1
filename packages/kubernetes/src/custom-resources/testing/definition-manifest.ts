// Manifests of CustomResourceDefinitions for tests and benchmarks.

type DefinitionNames = {
  readonly group: string;
  readonly kind: string;
  /** The singular is the kind in lower case. */
  readonly plural: string;
};

/** A cluster-scoped definition. */
export const definitionManifest = <Version extends object>(
  { group, kind, plural }: DefinitionNames,
  ...versions: Version[]
) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
    versions,
  },
});

/** A version that is served and stored. */
export const definitionVersion = <Schema extends object>(name: string, openAPIV3Schema: Schema) => ({
  name,
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
});
