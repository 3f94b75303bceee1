// CertificateSigningRequests: how certificates are requested, approved and delivered. A controller signs them.
// Source: k8s.io/kubernetes/pkg/registry/certificates/certificates/strategy.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { humanDuration } from "@postern/apimachinery/time/human-duration";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import { isValidPathSegmentName } from "@postern/apimachinery/validation/string-validators";
import {
  type CredentialLineage,
  lineageOf,
  lineageOn,
  withLineage,
} from "@postern/apiserver/authentication/credential-lineage";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";
import {
  CERTIFICATES_GROUP,
  type CertificateSigningRequest,
  certificateSigningRequestFields,
  conditionsOf,
} from "./certificate-signing-request.ts";
import { checkRequestedGroups, checkSignerPermission } from "./signer-permission.ts";
import {
  validateCertificateSigningRequest,
  validateConditions,
  validateStatusUpdate,
} from "./validate-certificate-signing-request.ts";

const strategyFor = (authorizer: Authorizer): Strategy<CertificateSigningRequest> => ({
  // Upstream does not care what requests are called.
  validateName: (name) => isValidPathSegmentName(name),
  allowUnconditionalUpdate: true,

  prepareForCreate(request, context) {
    const { user } = context;
    checkRequestedGroups(request);
    const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...spec } = request.spec ?? {};
    const requested = lineageOf(context);
    const described = withLineage(request, requested === undefined ? undefined : { requested });
    return {
      ...described,
      spec: {
        ...spec,
        username: user.name,
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        groups: user.groups,
        ...(user.extra === undefined ? {} : { extra: user.extra }),
      },
      status: {},
    };
  },
  validate: validateCertificateSigningRequest,

  async prepareForUpdate(request, old, context) {
    const { subresource } = context.info;
    const lineage = lineageOn(old);
    const { spec: _, ...rest } = withLineage(request, lineage);
    // The rest of an object type is not known to be the object without one member.
    const kept = { ...rest, ...(old.spec === undefined ? {} : { spec: old.spec }) } as CertificateSigningRequest;
    if (subresource === "approval") {
      await checkSignerPermission(authorizer, context, old, "approve");
      return withConditionTimes(withLineage(kept, afterApproval(kept, old, lineage, context)), old, context);
    }
    if (subresource === "status") {
      if (kept.status?.certificate !== old.status?.certificate) {
        await checkSignerPermission(authorizer, context, old, "sign");
      }
      return withConditionTimes(kept, old, context);
    }
    return kept;
  },
  validateUpdate(request, old, { info }) {
    if (info.subresource === "approval") return validateConditions(request, old);
    return info.subresource === "status" ? validateStatusUpdate(request, old) : [];
  },
});

/** A certificate goes back to the credential that asked for it, and to the one that approved it. */
function afterApproval(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  lineage: CredentialLineage | undefined,
  context: RequestContext,
): CredentialLineage | undefined {
  const isApproved = (one: CertificateSigningRequest) => conditionsOf(one).some(({ type }) => type === "Approved");
  const approved = isApproved(request) && !isApproved(old) ? lineageOf(context) : undefined;
  return approved === undefined ? lineage : { ...lineage, approved };
}

/** Fills in the times that are left out. */
function withConditionTimes(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  { receivedAt }: RequestContext,
): CertificateSigningRequest {
  const now = formatTimestamp(receivedAt);
  if (request.status?.conditions === undefined) return request;
  const conditions = request.status.conditions.map((condition) => {
    const before = conditionsOf(old).find(({ type }) => type === condition.type);
    const transition = before?.status === condition.status ? before.lastTransitionTime : undefined;
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? transition ?? now,
    };
  });
  return { ...request, status: { ...request.status, conditions } };
}

/** The state in one text, the decision first. */
function describeState(request: CertificateSigningRequest): string {
  const has = (wanted: string): boolean => conditionsOf(request).some(({ type }) => type === wanted);
  const decision = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  const isIssued = (request.status?.certificate ?? "") !== "";
  return `${decision}${has("Failed") ? ",Failed" : ""}${isIssued ? ",Issued" : ""}`;
}

/** `authorizer` decides who may approve requests and sign certificates: verbs `approve` and `sign` on `signers`. */
export const certificateSigningRequests = ({ authorizer }: { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineBuiltin({
    group: CERTIFICATES_GROUP,
    version: "v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    shortNames: ["csr"],
    namespaced: false,
    schema: kindSchema(certificateSigningRequestFields.schema),
    hasStatus: true,
    subresources: [
      {
        name: "approval",
        kind: { group: CERTIFICATES_GROUP, version: "v1", kind: "CertificateSigningRequest" },
        description: "Approves or denies the request: changes the conditions of its status, and nothing else.",
        updates(submitted, old) {
          // Both have gone through the schema of the kind.
          const conditions = (submitted as CertificateSigningRequest).status?.conditions;
          const { conditions: _, ...status } = (old as CertificateSigningRequest).status ?? {};
          return {
            ...old,
            metadata: submitted.metadata,
            status: conditions === undefined ? status : { ...status, conditions },
          };
        },
      },
    ],
    selectableFields: [".spec.signerName"],
    columns: [
      ageColumn,
      { name: "SignerName", type: "string", value: ".spec.signerName" },
      { name: "Requestor", type: "string", value: ".spec.username" },
      {
        name: "RequestedDuration",
        type: "string",
        value: (request) => {
          // Stored objects have passed the schema of the kind.
          const seconds = (request as CertificateSigningRequest).spec?.expirationSeconds;
          return seconds === undefined ? "<none>" : humanDuration(seconds * 1000);
        },
      },
      {
        name: "Condition",
        type: "string",
        value: (request) => describeState(request as CertificateSigningRequest),
      },
    ],
    strategy: strategyFor(authorizer),
  });
