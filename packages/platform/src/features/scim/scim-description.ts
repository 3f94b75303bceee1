// The documents in which the service describes itself: ServiceProviderConfig, ResourceTypes and Schemas.
// Source: RFC 7643 sections 5 to 7, RFC 7644 section 4

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { ScimFault } from "./scim-fault.ts";
import { SCIM_TYPES } from "./scim-resources.ts";
import { listResponse, scimResponse } from "./scim-response.ts";

export const SCIM_ROLE = "scim";
/** Resources in one page of a list. */
export const MAX_RESULTS = 1_000;

/** `first` is the name of a document, and `id` that of one entry of it. Throws ScimFault 404 and 405. */
export function describeService(first: string, id: string | undefined, method: string, base: string): ApiResponse {
  const isConfig = first === "ServiceProviderConfig" && id === undefined;
  const documents = isConfig ? [serviceProviderConfig(base)] : documentsOf(first, base);
  if (documents === undefined) throw new ScimFault(404, "there is no such resource");
  if (method !== "GET") throw new ScimFault(405, "the method is not supported");
  if (!isConfig && id === undefined) {
    const texts = documents.map((document) => JSON.stringify(document));
    return listResponse(texts, { totalResults: texts.length, startIndex: 1 });
  }
  const isNamed = ({ id: own }: JsonObject): boolean => own === id || encodeURIComponent(String(own)) === id;
  const document = isConfig ? documents[0] : documents.find(isNamed);
  if (document === undefined) throw new ScimFault(404, "there is no such resource");
  return scimResponse(200, document);
}

function documentsOf(name: string, base: string): readonly JsonObject[] | undefined {
  switch (name) {
    case "ResourceTypes":
      return SCIM_TYPES.map(({ name: id, path, schema }) => ({
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
        id,
        name: id,
        endpoint: `/${path}`,
        schema,
        meta: { resourceType: "ResourceType", location: `${base}/ResourceTypes/${id}` },
      }));
    case "Schemas":
      return SCIM_TYPES.map(({ name: type, schema }) => ({
        schemas: ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        id: schema,
        name: type,
        attributes: ATTRIBUTES[type].map(attribute),
        meta: { resourceType: "Schema", location: `${base}/Schemas/${schema}` },
      }));
    default:
      return undefined;
  }
}

type Attribute = {
  readonly name: string;
  readonly type: "string" | "boolean" | "complex";
  readonly multiValued?: boolean;
  readonly mutability?: "readOnly" | "readWrite";
};

const ATTRIBUTES: { readonly [type in "User" | "Group"]: readonly Attribute[] } = {
  User: [
    { name: "userName", type: "string" },
    { name: "displayName", type: "string" },
    { name: "name", type: "complex" },
    { name: "emails", type: "complex", multiValued: true },
    { name: "active", type: "boolean" },
    { name: "groups", type: "complex", multiValued: true, mutability: "readOnly" },
  ],
  Group: [
    { name: "displayName", type: "string" },
    { name: "members", type: "complex", multiValued: true },
  ],
};

const attribute = ({ name, type, multiValued = false, mutability = "readWrite" }: Attribute): JsonObject => ({
  name,
  type,
  multiValued,
  required: name === "userName",
  caseExact: false,
  mutability,
  returned: "default",
  uniqueness: name === "userName" ? "server" : "none",
});

const serviceProviderConfig = (base: string): JsonObject => ({
  schemas: ["urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig"],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: "oauthbearertoken",
      name: "Access key",
      description: `An access key whose scope has the role ${SCIM_ROLE}`,
    },
  ],
  meta: { resourceType: "ServiceProviderConfig", location: `${base}/ServiceProviderConfig` },
});
