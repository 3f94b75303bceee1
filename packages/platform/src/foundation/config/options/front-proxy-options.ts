// Options for requests that another kube-apiserver forwards: the management API as an aggregated API.
// Source: k8s.io/apiserver/pkg/server/options/authentication.go (RequestHeaderAuthenticationOptions)

import { integerOption, listOption, textOption } from "../option.ts";
import { foreignPrefix, remoteHeaderPrefix, remoteHeaders, someNames } from "../rules.ts";

export const frontProxyOptions = {
  frontProxy: {
    clientCAFile: textOption({
      flag: "requestheader-client-ca-file",
      placeholder: "<file>",
      default: "",
      defaultText: "none: X-Remote headers are ignored",
      description:
        "PEM file with the CA certificates for the client certificate of another kube-apiserver, whose X-Remote headers name the user in requests to the management API. A changed one is used without a restart",
    }),
    allowedNames: listOption({
      flag: "requestheader-allowed-names",
      placeholder: "<name,…>",
      default: ["front-proxy-client"],
      description: "Common names of client certificates of --requestheader-client-ca-file whose X-Remote headers count",
      rule: someNames,
    }),
    usernameHeaders: listOption({
      flag: "requestheader-username-headers",
      placeholder: "<header,…>",
      default: ["X-Remote-User"],
      description: "Headers with the name of the user; the first that is not empty counts",
      rule: remoteHeaders,
    }),
    groupHeaders: listOption({
      flag: "requestheader-group-headers",
      placeholder: "<header,…>",
      default: ["X-Remote-Group"],
      description: "Headers with the groups of the user, each as often as there are groups",
      rule: remoteHeaders,
    }),
    extraHeadersPrefix: textOption({
      flag: "requestheader-extra-headers-prefix",
      placeholder: "<prefix>",
      default: "X-Remote-Extra-",
      description: "Beginning of headers with further attributes of the user, for the audit log",
      rule: remoteHeaderPrefix,
    }),
    prefix: textOption({
      flag: "requestheader-prefix",
      placeholder: "<prefix>",
      default: "host:",
      description:
        "Beginning of the names of users and groups of the other cluster: lower-case letters, digits and dashes, and a colon",
      rule: foreignPrefix,
    }),
    credentialTTLSeconds: integerOption({
      flag: "requestheader-credential-ttl-seconds",
      placeholder: "<seconds>",
      default: 3_600,
      min: 600,
      max: 10 * 366 * 86_400,
      description:
        "Maximum TTL of the access keys and kubeconfigs that users of the other cluster create. A longer one requires the verb extend on ownedaccesskeys",
    }),
  },
};
