// Definitions in groups of the Kubernetes community need an approval annotation.
// Source: k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go

import type { ObjectMeta } from "@postern/apimachinery/meta/object-meta";

export type ApprovalState = {
  readonly state: "approved" | "unapproved" | "invalid" | "missing";
  readonly message: string;
};

const ANNOTATION = "api-approved.kubernetes.io";
const DETAILS = "see https://github.com/kubernetes/enhancements/pull/1111";

export const isProtectedGroup = (group: string): boolean => /(^|\.)(k8s|kubernetes)\.io$/.test(group);

export function approvalStateOf({ annotations }: ObjectMeta): ApprovalState {
  const text = annotations?.[ANNOTATION] ?? "";
  const rule = `protected groups must have approval annotation "${ANNOTATION}"`;
  if (text === "") return { state: "missing", message: `${rule}, ${DETAILS}` };
  if (text.startsWith("unapproved")) return { state: "unapproved", message: `not approved: ${JSON.stringify(text)}` };
  if (URL.canParse(text) && new URL(text).host !== "") return { state: "approved", message: `approved in ${text}` };
  const message = `${rule} with either a URL or a reason starting with "unapproved", ${DETAILS}`;
  return { state: "invalid", message };
}
