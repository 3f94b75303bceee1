// DELETE on a collection.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/delete.go (DeleteCollection)

import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { listResponse } from "../negotiation/list-response.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { readDeleteOptions } from "./delete-options.ts";
import { listQueryOf, readListOptions } from "./list-query.ts";

export const handleDeleteCollection: VerbHandler = async (context, { definition, servedStore }, endpoint) => {
  if (servedStore.deleteCollection === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "deletecollection");
  }
  const output = negotiateOutput(context.request, definition);
  const query = listQueryOf(readListOptions(context), context);
  const { options } = await readDeleteOptions(context, definition, endpoint);
  const page = await servedStore.deleteCollection(context, query, options);
  return await listResponse(context, page, definition, output);
};
