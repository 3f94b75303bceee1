// Options of the notices that go out before access keys end.

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
        "How long before its end an access key gets a notice, in days (d), hours (h) or minutes (m): an Event each, and a request to the webhook; an empty list for none",
      rule: leadTimes,
    }),
    webhook: {
      url: textOption({
        flag: "notice-webhook-url",
        placeholder: "<url>",
        default: "",
        defaultText: "none",
        description: "Where each notice is sent to as a POST with JSON, signed as Standard Webhooks says",
        rule: webhookUrlOrEmpty,
      }),
      secretFile: textOption({
        flag: "notice-webhook-secret-file",
        placeholder: "<file>",
        default: "",
        defaultText: "none",
        description:
          "File with the secret that notices are signed with: whsec_ and base64, or at least 32 characters; several lines sign with each of them. Read anew for each notice",
      }),
      caFile: textOption({
        flag: "notice-webhook-ca-file",
        placeholder: "<file>",
        default: "",
        defaultText: "the public roots of Node",
        description: "File with the certificates in PEM that the webhook is trusted by",
      }),
      timeoutSeconds: integerOption({
        flag: "notice-webhook-timeout-seconds",
        placeholder: "<seconds>",
        default: 10,
        min: 1,
        max: 300,
        description:
          "How long the webhook may take to answer; what it did not take is sent again until the access key has ended",
      }),
      allowedAddresses: listOption({
        flag: "notice-webhook-allowed-addresses",
        placeholder: "<network,…>",
        default: [],
        defaultText: "none beside public ones",
        description:
          "Networks and addresses that the webhook may be at although they are private, such as 10.20.0.0/16",
        rule: networks,
      }),
    },
  },
};
