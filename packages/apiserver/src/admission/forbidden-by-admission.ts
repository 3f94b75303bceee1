// The 403 with which an admission plugin refuses.
// Source: k8s.io/apiserver/pkg/admission/errors.go

import { type ApiError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { AdmissionAttributes } from "../registry/admission-plugin.ts";

/** Named by the object, or by its prefix where the name is generated later. */
export function forbiddenByAdmission({ resource, name, object }: AdmissionAttributes, why: string): ApiError {
  const named = name !== "" ? name : (object?.metadata.name ?? object?.metadata.generateName ?? "Unknown!");
  return forbiddenRequestError({ group: resource.group, resource: resource.plural }, named, why);
}
