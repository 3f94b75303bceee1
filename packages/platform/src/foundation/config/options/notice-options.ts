// Options for notices before access keys expire.

import { integerOption, listOption, textOption } from "../option.ts";
import { leadTimes, networks, webhookUrlOrEmpty } from "../rules.ts";

export const noticeOptions = {
  notices: {
    leadTimes: listOption({
      flag: "access-key-notice-lead-times",
      placeholder: "<time,…>",
      default: ["7d", "1d"],
      defaultText: "7d,1d",
      description:
        "When to send notices before an access key expires, in days (d), hours (h) or minutes (m): an Event each, and a request to the webhook; empty for none",
      rule: leadTimes,
    }),
    webhook: {
      url: textOption({
        flag: "notice-webhook-url",
        placeholder: "<url>",
        default: "",
        defaultText: "none",
        description: "URL for notices: a POST with JSON, signed according to Standard Webhooks",
        rule: webhookUrlOrEmpty,
      }),
      secretFile: textOption({
        flag: "notice-webhook-secret-file",
        placeholder: "<file>",
        default: "",
        defaultText: "none",
        description:
          "File with the secret to sign notices with: whsec_ and base64, or at least 32 characters; with several lines, notices carry one signature per line. Read again for each notice",
      }),
      caFile: textOption({
        flag: "notice-webhook-ca-file",
        placeholder: "<file>",
        default: "",
        defaultText: "the public roots of Node",
        description: "PEM file with the CA certificates to verify the webhook with. Read again for each notice",
      }),
      timeoutSeconds: integerOption({
        flag: "notice-webhook-timeout-seconds",
        placeholder: "<seconds>",
        default: 10,
        min: 1,
        max: 300,
        description: "Timeout for requests to the webhook; failed notices are retried until the access key has expired",
      }),
      allowedAddresses: listOption({
        flag: "notice-webhook-allowed-addresses",
        placeholder: "<network,…>",
        default: [],
        defaultText: "none, except for public addresses",
        description: "Private networks and addresses that the webhook may use, such as 10.20.0.0/16",
        rule: networks,
      }),
    },
  },
};
