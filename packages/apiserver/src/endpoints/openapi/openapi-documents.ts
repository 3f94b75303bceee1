// All OpenAPI documents for one set of resources, built on first use.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { toOpenApiV2 } from "@postern/apimachinery/schema/openapi-v2";
import { toOpenApiV3 } from "@postern/apimachinery/schema/openapi-v3";
import type { ApiGroup, ApiVersion } from "../discovery/api-groups.ts";
import { lazily, type PreparedBody, prepareBody } from "../discovery/prepared-document.ts";
import { type ApiPath, apiPaths } from "./api-paths.ts";
import { openApiComponents, referredComponents, writeComponents } from "./components.ts";
import { encodeGnosticDocument } from "./encode-gnostic.ts";
import { nonResourcePaths } from "./non-resource-paths.ts";
import { writeV2Paths } from "./write-v2-paths.ts";
import { writeV3Paths } from "./write-v3-paths.ts";

export type ApiInfo = { readonly title: string; readonly version: string };

export type OpenApiDocuments = {
  /** By what stands behind `/openapi/v3/`, such as `apis/management.example.com/v1`, sorted. */
  readonly v3: ReadonlyMap<string, () => PreparedBody>;
  readonly v2: () => PreparedBody;
  readonly v2Protobuf: () => PreparedBody;
};

export function openApiDocuments(groups: readonly ApiGroup[], info: ApiInfo): OpenApiDocuments {
  const versions = groups.flatMap((group) => group.versions);
  const resources = versions.flatMap((version) => version.resources);
  const components = lazily(() => openApiComponents(resources));
  const v3Components = lazily(() => writeComponents(components(), toOpenApiV3));
  const others = nonResourcePaths(groups);

  const v3Document = (paths: readonly ApiPath[]): PreparedBody => {
    const written = writeV3Paths(paths);
    const schemas = referredComponents(written, v3Components());
    return prepareBody(stringifyJson({ openapi: "3.0.0", info, paths: written, components: { schemas } }));
  };
  const v3: readonly (readonly [string, () => PreparedBody])[] = [
    ...[...others].map(([name, path]) => [name, lazily(() => v3Document([path]))] as const),
    ...versions.map((version) => [documentName(version), lazily(() => v3Document(versionPaths(version)))] as const),
  ];

  const v2Document = lazily((): JsonObject => {
    const paths = writeV2Paths([...others.values(), ...versions.flatMap(versionPaths)].sort(byPath));
    const definitions = Object.fromEntries(writeComponents(components(), toOpenApiV2));
    return { swagger: "2.0", info, ...paths, definitions, ...BEARER_TOKEN };
  });

  return {
    v3: new Map([...v3].sort(([a], [b]) => (a < b ? -1 : 1))),
    v2: lazily(() => prepareBody(stringifyJson(v2Document()))),
    v2Protobuf: lazily(() => prepareBody(encodeGnosticDocument(v2Document()))),
  };
}

const BEARER_TOKEN = {
  securityDefinitions: {
    BearerToken: { type: "apiKey", name: "authorization", in: "header", description: "Bearer Token authentication" },
  },
  security: [{ BearerToken: [] }],
};

const documentName = ({ group, version }: ApiVersion): string =>
  group === "" ? `api/${version}` : `apis/${group}/${version}`;

const versionPaths = ({ resources }: ApiVersion): readonly ApiPath[] => resources.flatMap(apiPaths).sort(byPath);

const byPath = (a: ApiPath, b: ApiPath): number => (a.path < b.path ? -1 : 1);
