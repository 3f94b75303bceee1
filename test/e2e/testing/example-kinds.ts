// A kind of each API surface that clients are tried with: an access key of the management API, and a config map of a virtual cluster.

export type ExampleKind = {
  readonly where: string;
  readonly kind: string;
  readonly apiVersion: string;
  /** Where the objects are; undefined where they are in no namespace. */
  readonly namespace: string | undefined;
  /** Content of an object beside its metadata. */
  readonly content: (value: string) => object;
  /** Where that value is. */
  readonly valuePath: string;
};

export const ACCESS_KEY: ExampleKind = {
  where: "the management API",
  kind: "OwnedAccessKey",
  apiVersion: "management.postern/v1",
  namespace: undefined,
  content: (value) => ({ spec: { displayName: value, user: "admin" } }),
  valuePath: ".spec.displayName",
};

export const CONFIG_MAP: ExampleKind = {
  where: "a virtual cluster",
  kind: "ConfigMap",
  apiVersion: "v1",
  namespace: "default",
  content: (value) => ({ data: { value } }),
  valuePath: ".data.value",
};
