// GET on an object, and on its status.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/get.go

import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";

export const handleGet: VerbHandler = (context, { definition, servedStore }) => {
  if (servedStore.get === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "get");
  }
  const output = negotiateOutput(context.request, definition);
  const resourceVersion = context.request.query.get("resourceVersion") ?? "";
  const object = servedStore.get(context, context.info.namespace, context.info.name, { resourceVersion });
  return object instanceof Promise
    ? object.then((found) => objectResponse(context, 200, found, definition, output))
    : objectResponse(context, 200, object, definition, output);
};
