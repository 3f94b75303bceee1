// Subresources that a resource defines itself: views (GET), actions (POST), and whatever takes the connection over.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/rest.go (ConnectResource)

import { badRequestError, invalidObjectError } from "@postern/apimachinery/meta/api-error";
import { formatApiVersion } from "@postern/apimachinery/meta/group-version";
import { isProtobufKind } from "@postern/apimachinery/protobuf/protobuf-object";
import { validateAgainstSchema } from "@postern/apimachinery/schema/validation/validate-schema";
import type { RequestContext } from "../../context/request-context.ts";
import type { Subresource } from "../../registry/resource-definition.ts";
import type { InstalledResource } from "../../registry/resource-registry.ts";
import type { ApiResponse } from "../../transport/api-response.ts";
import type { BodyKind } from "../decode/decode-object.ts";
import { decodeBody, readBody } from "../decode/read-object.ts";
import type { EndpointContext } from "../endpoint-context.ts";
import {
  isWrittenAs,
  negotiateWithin,
  type OutputRestrictions,
  PLAIN_OUTPUT,
} from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { unservedVerbError } from "../unserved-verb-error.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import { validCreateOptions } from "./valid-create-options.ts";

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true } as const;

/** Its own kind, as it is. */
const actionOutput = ({ kind }: Subresource): OutputRestrictions => ({
  ...PLAIN_OUTPUT,
  allows: (mediaType, target) => target === undefined && isWrittenAs(mediaType, kind),
});

export async function handleSubresource(
  context: RequestContext,
  resource: InstalledResource,
  subresource: Subresource,
  endpoint: EndpointContext,
): Promise<ApiResponse> {
  const { verb } = context.info;
  if (subresource.connect !== undefined) return await subresource.connect(context);
  const output = negotiateWithin(context.request, actionOutput(subresource));
  if (verb === "get" && subresource.get !== undefined) {
    return await objectResponse(context, 200, await subresource.get(context), resource.definition, output);
  }
  if (verb === "create" && subresource.create !== undefined) {
    const body = await readAction(context, resource, subresource, endpoint);
    return await objectResponse(context, 201, await subresource.create(context, body), resource.definition, output);
  }
  throw unservedVerbError(resource.definition, verb);
}

/** The body of an action: of the subresource's kind, known fields only, valid; its name and namespace may be left out. */
async function readAction(
  context: RequestContext,
  resource: InstalledResource,
  subresource: Subresource,
  endpoint: EndpointContext,
) {
  const { info } = context;
  const options = validCreateOptions(context);
  const { strategicMergePatch = false } = resource.definition;
  const kind: BodyKind = { ...subresource.kind, schema: subresource.schema ?? ANYTHING, strategicMergePatch };
  // Only what Go clients know has a protobuf form.
  const body = await readBody(context, endpoint, () => isProtobufKind(formatApiVersion(kind), kind.kind));
  const object = await decodeBody(context, body, kind, options.fieldValidation);
  context.audit.setRequestObject(object);
  const { name = "", namespace = "" } = object.metadata;
  if (namespace !== "" && namespace !== info.namespace) {
    throw badRequestError("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (name !== "" && name !== info.name) {
    throw subresource.nameFault?.(name, info.name) ?? badRequestError(nameFaultOf(kind.kind));
  }
  const errors = validateAgainstSchema(object, kind.schema, "");
  if (errors.length > 0) throw invalidObjectError(kind, info.name, errors);
  addDeprecationWarnings(resource, object, context.warnings, kind.schema);
  return {
    ...object,
    metadata: { ...object.metadata, name: info.name, ...(info.namespace === "" ? {} : { namespace: info.namespace }) },
  };
}

/** As upstream refuses Bindings and Evictions. */
const nameFaultOf = (kind: string): string => `name in URL does not match name in ${kind} object`;
