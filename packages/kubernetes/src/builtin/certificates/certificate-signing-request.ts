// The fields of CertificateSigningRequests.
// Source: k8s.io/api/certificates/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";

export const CERTIFICATES_GROUP = "certificates.k8s.io";

const condition = s.object({
  type: s.string().required(),
  status: s.string().required(),
  reason: s.string(),
  message: s.string(),
  lastUpdateTime: s.timestamp(),
  lastTransitionTime: s.timestamp(),
});
export type CertificateCondition = Infer<typeof condition>;

export const certificateSigningRequestFields = s.object({
  spec: s.object({
    request: s.bytes(),
    signerName: s.string(),
    expirationSeconds: s.int32(),
    usages: s.list(s.string()),
    username: s.string(),
    uid: s.string(),
    groups: s.list(s.string()),
    extra: s.map(s.list(s.string())),
  }),
  status: s.object({
    conditions: mergedInPatches(s.listMap(condition, ["type"]), "type"),
    certificate: s.bytes(),
  }),
});

export type CertificateSigningRequest = KindOf<typeof certificateSigningRequestFields>;

export const conditionsOf = ({ status }: CertificateSigningRequest): readonly CertificateCondition[] =>
  status?.conditions ?? [];
