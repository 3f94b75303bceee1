// Options of the audit log, named as in kube-apiserver.
// Source: k8s.io/apiserver/pkg/server/options/audit.go

import { choiceOption, integerOption, textOption } from "../option.ts";
import { notEmpty } from "../rules.ts";

export const auditOptions = {
  audit: {
    logPath: textOption({
      flag: "audit-log-path",
      placeholder: "<file>",
      default: "",
      defaultText: "audit.log in the data directory",
      description: "File for audit events, one JSON object per line; - for standard output",
      rule: (value) => (value === "" ? undefined : notEmpty(value)),
    }),
    policyFile: textOption({
      flag: "audit-policy-file",
      placeholder: "<file>",
      default: "",
      defaultText: "none: every request is recorded at level Metadata",
      description:
        "YAML file with an audit.k8s.io/v1 Policy. Requests for access keys and kubeconfigs are always recorded, credentials never",
    }),
    logMaxSize: integerOption({
      flag: "audit-log-maxsize",
      placeholder: "<megabytes>",
      default: 100,
      min: 0,
      max: 1_000_000,
      description: "Size at which the audit log is rotated; 0 for never",
    }),
    logMaxBackup: integerOption({
      flag: "audit-log-maxbackup",
      placeholder: "<files>",
      default: 10,
      min: 0,
      max: 10_000,
      description: "Number of rotated audit logs to keep; 0 for all",
    }),
    keyFile: textOption({
      flag: "audit-log-key-file",
      placeholder: "<file>",
      default: "",
      defaultText: "none: lines are chained without a key",
      description:
        "File with 64 hexadecimal digits. Each line of the audit log is authenticated with this key, so that changes are detected. Keep it away from the log",
    }),
    mode: choiceOption({
      flag: "audit-log-mode",
      choices: ["batch", "blocking", "blocking-strict"],
      default: "batch",
      description:
        "Whether requests wait for their audit event: batch does not wait, blocking waits, blocking-strict refuses requests that cannot be recorded",
    }),
    webhook: {
      configFile: textOption({
        flag: "audit-webhook-config-file",
        placeholder: "<file>",
        default: "",
        defaultText: "none: events are in the log alone",
        description:
          "File in the format of a kubeconfig with the address and the credential of a receiver of audit events. It gets what is in the log, also what it missed",
      }),
      batchMaxSize: integerOption({
        flag: "audit-webhook-batch-max-size",
        placeholder: "<events>",
        default: 400,
        min: 1,
        max: 10_000,
        description: "Most events in one request to that receiver",
      }),
    },
  },
};
