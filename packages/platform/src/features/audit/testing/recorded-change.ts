import type { AuditEvent } from "@postern/apiserver/audit/audit-event";

/** A change by a user of its own, who has a share of the log alone: no file leaves it out. `text` makes it longer. */
export const recordedChange = (auditID: string, text = ""): AuditEvent => ({
  kind: "Event",
  apiVersion: "audit.k8s.io/v1",
  level: "Metadata",
  auditID,
  stage: "ResponseComplete",
  requestURI: `/${text}`,
  verb: "create",
  user: { username: auditID },
  annotations: { "authentication.kubernetes.io/credential-id": auditID },
  responseStatus: { code: 201 },
  requestReceivedTimestamp: "",
  stageTimestamp: "",
});
