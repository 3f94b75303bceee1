// Options of what the server serves: its names, access keys and kube configs.

import { choiceOption, integerOption, listOption, switchOption, textOption } from "../option.ts";
import { dnsLabelOrEmpty, dnsSubdomain, namespacePrefix, networks } from "../rules.ts";

/** Ten years: beyond it a life in seconds is more likely a slip of units than a wish. */
const MAX_TTL_SECONDS = 10 * 366 * 86_400;

/** What a server lives by that is told nothing: see bootstrap/default-key-life.ts. */
export const UNSET_TTL = -1;

export const platformOptions = {
  platform: {
    domain: textOption({
      flag: "platform-domain",
      placeholder: "<domain>",
      default: "postern",
      description: "Domain of the API groups (management.<domain>) and of label and annotation keys (<domain>/…)",
      rule: dnsSubdomain,
    }),
    name: textOption({
      flag: "platform-name",
      placeholder: "<name>",
      default: "",
      defaultText: "first label of the platform's domain",
      description: "Prefix of the identities that the platform gives, such as <name>:user:jane",
      rule: dnsLabelOrEmpty,
    }),
    projectNamespacePrefix: textOption({
      flag: "project-namespace-prefix",
      placeholder: "<prefix>",
      default: "p-",
      description: "What the namespace of a project begins with, before the project's name",
      rule: namespacePrefix,
    }),
  },
  accessKeys: {
    maxTTLSeconds: integerOption({
      flag: "access-key-max-ttl-seconds",
      placeholder: "<seconds>",
      default: 0,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "0 (no limit)",
      description: "Longest life of an access key; a key that asks for more, or for no end, gets this",
    }),
    defaultTTLSeconds: integerOption({
      flag: "access-key-default-ttl-seconds",
      placeholder: "<seconds>",
      default: UNSET_TTL,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "7776000 (90 days) where the store is new with this release, 0 (no end) otherwise",
      description:
        "Life of an access key that is created without spec.ttl; a longer one, or one without an end, takes the verb extend on ownedaccesskeys",
    }),
    machineDefaultTTLSeconds: integerOption({
      flag: "access-key-machine-default-ttl-seconds",
      placeholder: "<seconds>",
      default: UNSET_TTL,
      min: 0,
      max: MAX_TTL_SECONDS,
      defaultText: "as accessKeys.defaultTTLSeconds where that is set, 0 (no end) otherwise",
      description:
        "The same for an access key of a team or a subject, such as one for CI; without the verb extend the limit for keys of people applies",
    }),
    maxPerOwner: integerOption({
      flag: "access-key-max-per-owner",
      placeholder: "<keys>",
      default: 0,
      min: 0,
      max: 1_000_000,
      defaultText: "0 (no limit)",
      description: "Access keys that one user, team or subject may have, those in kube configs among them",
    }),
    keepExpiredSeconds: integerOption({
      flag: "access-key-keep-expired-seconds",
      placeholder: "<seconds>",
      default: 86_400,
      min: 0,
      max: MAX_TTL_SECONDS,
      description: "How long an access key stays readable after it expired or was revoked, refused all the while",
    }),
    rememberValuesDays: integerOption({
      flag: "access-key-remember-values-days",
      placeholder: "<days>",
      default: 365,
      min: 1,
      max: 3_650,
      description:
        "How long a value that a client chose for an access key stays that of its owner after the key is gone: nobody else may choose it",
    }),
    leaked: choiceOption({
      flag: "leaked-access-keys",
      choices: ["disable", "report"],
      default: "disable",
      description:
        "What becomes of an access key that somebody reports as leaked at /leaks: it is disabled, or an Event tells of it and nothing else happens",
    }),
  },
  proxy: {
    allowedAddresses: listOption({
      flag: "proxy-allowed-addresses",
      placeholder: "<network,…>",
      default: [],
      defaultText: "none beside public ones, and those of connected clusters",
      description:
        "Networks and addresses that external virtual clusters may be at although they are private, such as 10.20.0.0/16",
      rule: networks,
    }),
    healthCheckIntervalSeconds: integerOption({
      flag: "proxy-health-check-interval-seconds",
      placeholder: "<seconds>",
      default: 30,
      min: 1,
      max: 3600,
      description:
        "How often each connected cluster, and each space and virtual cluster that others run, is asked whether it still answers",
    }),
  },
  kubeConfig: {
    proxyFallback: switchOption({
      flag: "kube-config-proxy-fallback",
      default: false,
      description:
        "Answer kube config requests for virtual clusters without an ingress endpoint with the platform's own proxy address, instead of refusing them",
    }),
  },
};
