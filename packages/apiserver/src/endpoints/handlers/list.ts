// GET on a collection.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/get.go (ListResource)

import { verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import { whenDone } from "../../runtime/awaitable.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { listResponse } from "../negotiation/list-response.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { listQueryOf, readListOptions } from "./list-query.ts";

export const handleList: VerbHandler = (context, { definition, servedStore }, { listSegments }) => {
  if (servedStore.list === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "list");
  }
  const output = negotiateOutput(context.request, definition);
  const page = servedStore.list(context, listQueryOf(readListOptions(context), context));
  return whenDone(page, (found) => listResponse(context, found, definition, output, listSegments));
};
