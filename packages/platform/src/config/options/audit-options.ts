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
    mode: choiceOption({
      flag: "audit-log-mode",
      choices: ["blocking", "batch"],
      default: "batch",
      description: "Whether a request waits until its audit event is written",
    }),
  },
};
