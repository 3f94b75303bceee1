// Every operation that takes a body, as a running server describes them itself: what is served tomorrow is there by itself.

import type { RunningPlatform } from "../../../packages/platform/src/testing/running-platform.ts";

type Schema = {
  readonly type?: string;
  readonly properties?: { readonly [name: string]: Schema };
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
};

export type ServedOperation = {
  /** Such as `POST /apis/…/roles`. */
  readonly id: string;
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** With `{name}` and `{namespace}` in it. */
  readonly path: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly subresource: string;
  /** Of the body; of a patch, of what it is made for. */
  readonly schema: Schema;
  /** Follows references. */
  resolve(schema: Schema | undefined): Schema;
};

const METHODS = ["post", "put", "patch", "delete"] as const;

/** `surface` stands in front of the paths of the API that is asked. */
export async function servedOperations(
  platform: Pick<RunningPlatform, "send">,
  surface: string,
): Promise<readonly ServedOperation[]> {
  const { body: index } = await platform.send({ path: `${surface}/openapi/v3` });
  const documents = await Promise.all(
    Object.keys(index.paths)
      .filter((path) => /^apis?\//.test(path))
      .map((path) => platform.send({ path: `${surface}/openapi/v3/${path}` })),
  );
  return documents.flatMap(({ body }) => operationsIn(body, surface));
}

function operationsIn({ paths, components }: any, surface: string): readonly ServedOperation[] {
  const resolve = (schema: Schema | undefined): Schema => {
    const [only] = schema?.allOf ?? [];
    const reference = schema?.$ref ?? only?.$ref;
    return reference === undefined ? (schema ?? {}) : resolve(components.schemas[reference.split("/").at(-1) ?? ""]);
  };
  return Object.entries<any>(paths).flatMap(([path, item]) =>
    METHODS.flatMap((verb) => {
      const { "x-kubernetes-group-version-kind": gvk } = item[verb] ?? {};
      const [, plural = "", , subresource = ""] =
        /(?:\/v[^/]+)(?:\/namespaces\/\{namespace\})?\/([^/{]+)(\/\{name\})?(?:\/(.+))?$/.exec(path) ?? [];
      if (gvk === undefined || plural === "") return [];
      const { group, version, kind } = gvk;
      const method = verb.toUpperCase() as ServedOperation["method"];
      const content = Object.values<any>((item.put ?? item.post)?.requestBody?.content ?? {});
      return [
        {
          id: `${method} ${path}`,
          method,
          path: `${surface}${path}`,
          apiVersion: group === "" ? version : `${group}/${version}`,
          kind,
          plural,
          subresource,
          schema: resolve(
            (verb === "patch" || verb === "delete"
              ? (content[0]?.schema ?? schemaOf(kind, components))
              : content[0]?.schema) ?? {},
          ),
          resolve,
        },
      ];
    }),
  );
}

const schemaOf = (kind: string, components: any): Schema | undefined =>
  Object.entries<any>(components.schemas).find(([name]) => name.endsWith(`.${kind}`))?.[1];
