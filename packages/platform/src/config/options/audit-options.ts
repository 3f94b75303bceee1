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
      description: "File that audit events are appended to, one JSON object a line; - for standard output",
      rule: (value) => (value === "" ? undefined : notEmpty(value)),
    }),
    policyFile: textOption({
      flag: "audit-policy-file",
      placeholder: "<file>",
      default: "",
      defaultText: "none: every request is recorded without its content",
      description:
        "YAML file with an audit.k8s.io/v1 Policy that says how much of which requests is recorded; requests for access keys and kube configs are always recorded, and no credential ever is",
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
      description: "Rotated audit logs that are kept; 0 for all",
    }),
    keyFile: textOption({
      flag: "audit-log-key-file",
      placeholder: "<file>",
      default: "",
      defaultText: "none: lines are chained without a key",
      description:
        "File with 64 hexadecimal digits that each line of the audit log is sealed with, so that nobody without it writes the log anew unnoticed; keep it where the log is not",
    }),
    mode: choiceOption({
      flag: "audit-log-mode",
      choices: ["batch", "blocking", "blocking-strict"],
      default: "batch",
      description:
        "Whether a request waits until its audit event is written: batch does not, blocking does, and blocking-strict refuses what cannot be recorded",
    }),
  },
};
