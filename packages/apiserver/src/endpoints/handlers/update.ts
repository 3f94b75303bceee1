// PUT on an object or its status: replaces it.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/update.go

import { invalidObjectError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { validateUpdateOptions } from "@postern/apimachinery/validation/request-options";
import { groupResourceOf } from "../../registry/resource-definition.ts";
import { isDryRun, updateOptionsOf } from "../../request/query-options.ts";
import { checkNameOfPath, readObject } from "../decode/read-object.ts";
import type { VerbHandler } from "../endpoint-context.ts";
import { negotiateOutput } from "../negotiation/negotiate-output.ts";
import { objectResponse } from "../negotiation/object-response.ts";
import { authorizeCreation } from "./authorize-creation.ts";
import { addDeprecationWarnings } from "./deprecation-warnings.ts";
import { fieldManagerOf } from "./field-manager-name.ts";

const UPDATE_OPTIONS = { group: "meta.k8s.io", kind: "UpdateOptions" };

export const handleUpdate: VerbHandler = async (context, resource, endpoint) => {
  const { definition, servedStore, fieldManager } = resource;
  const { namespace, name, subresource } = context.info;
  if (servedStore.update === undefined) {
    throw verbNotSupportedError(groupResourceOf(definition), "update");
  }
  const output = negotiateOutput(context.request, definition);
  const options = updateOptionsOf(context.request.query);
  const errors = validateUpdateOptions(options);
  if (errors.length > 0) throw invalidObjectError(UPDATE_OPTIONS, "", errors);

  const object = await readObject(context, definition, endpoint, options.fieldValidation);
  checkNameOfPath(object, context);
  addDeprecationWarnings(resource, object, context.warnings);
  context.audit.setRequestObject(object);
  const manager = fieldManagerOf(options.fieldManager, context.request);
  const now = formatTimestamp(endpoint.runtime.clock.now());
  const allowsCreate = definition.strategy?.allowCreateOnUpdate === true && subresource === "";
  const outcome = await servedStore.update(
    context,
    namespace,
    name,
    {
      uid: object.metadata.uid ?? "",
      subresource,
      transform: (current) =>
        context.inParts(fieldManager.updateInSteps({ live: current, next: object, manager, subresource, now })),
      ...(allowsCreate
        ? {
            async createWhenAbsent() {
              await authorizeCreation(context, endpoint);
              // The client's version of a deleted object does not apply to the new one.
              const { resourceVersion: _, ...metadata } = object.metadata;
              const next = { ...object, metadata };
              return await context.inParts(
                fieldManager.updateInSteps({ live: undefined, next, manager, subresource, now }),
              );
            },
          }
        : {}),
    },
    { dryRun: isDryRun(options) },
  );
  return await objectResponse(context, outcome.created ? 201 : 200, outcome.object, definition, output);
};
