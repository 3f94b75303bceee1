// Options of the server itself: where it keeps its data and where it listens.

import { choiceOption, integerOption, listOption, textOption } from "../option.ts";
import { hostAndPortOrEmpty, hostNames, ipAddress, notEmpty } from "../rules.ts";
import { storeAddress } from "../store-address.ts";

export const serverOptions = {
  dataDir: textOption({
    flag: "data-dir",
    placeholder: "<directory>",
    default: "./data",
    description: "Directory that holds everything the server keeps: store, certificates, keys and admin.kubeconfig",
    rule: notEmpty,
  }),
  bootstrap: {
    dir: textOption({
      flag: "bootstrap-dir",
      placeholder: "<directory>",
      default: "",
      defaultText: "none",
      description:
        "Directory of manifests (.yaml, .yml, .json) that are applied at every start, by server-side apply as postern-bootstrap",
    }),
    drift: choiceOption({
      flag: "bootstrap-drift",
      choices: ["report", "overwrite"],
      default: "report",
      description:
        "Fields of --bootstrap-dir that were changed since: report keeps and reports them, overwrite reports and resets them",
    }),
  },
  bindAddress: textOption({
    flag: "bind-address",
    placeholder: "<ip>",
    default: "127.0.0.1",
    description: "IP address to listen on; 0.0.0.0 or :: for all of the machine",
    rule: ipAddress,
  }),
  securePort: integerOption({
    flag: "secure-port",
    placeholder: "<port>",
    default: 8443,
    min: 0,
    max: 65535,
    description: "Port to serve HTTPS on; 0 picks a free one and prints it",
  }),
  externalHostname: textOption({
    flag: "external-hostname",
    placeholder: "<host[:port]>",
    default: "",
    defaultText: "address and port the server listens on",
    description: "Host, or host and port, by which clients reach the server; written into kube configs",
    rule: hostAndPortOrEmpty,
  }),
  tlsCertFile: textOption({
    flag: "tls-cert-file",
    placeholder: "<file>",
    default: "",
    defaultText: "made and signed by the server's own authority",
    description: "PEM file with the server's certificate, followed by its intermediates; needs --tls-private-key-file",
  }),
  tlsPrivateKeyFile: textOption({
    flag: "tls-private-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "made with the certificate",
    description: "PEM file with the private key of --tls-cert-file",
  }),
  tlsSans: listOption({
    flag: "tls-san",
    placeholder: "<host,ip,…>",
    default: [],
    defaultText: "none",
    description: "More host names and IP addresses that the server's own certificate answers to",
    rule: hostNames,
  }),
  serverKeyFile: textOption({
    flag: "server-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "server.key in the data directory",
    description:
      "File with the server key, which opens the key ring in the store; without it no access key is recognised any more",
  }),
  serverKeyCommand: textOption({
    flag: "server-key-command",
    placeholder: "<command>",
    default: "",
    defaultText: "none",
    description:
      "Command that prints the server key as 64 hexadecimal digits, instead of --server-key-file, such as one that asks a key management service",
  }),
  previousServerKeyFile: textOption({
    flag: "previous-server-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "none",
    description: "File with the server key that the present one replaces, until every server has the present one",
  }),
  store: textOption({
    flag: "store",
    placeholder: "<store>",
    default: "sqlite",
    description:
      "Where objects live: sqlite (postern.db in the data directory), sqlite:<file>, memory (lost at exit) or etcd://<host:port>,…",
    rule: (value) => {
      const address = storeAddress(value);
      return "fault" in address ? address.fault : undefined;
    },
  }),
  shutdownDrainSeconds: integerOption({
    flag: "shutdown-drain-seconds",
    placeholder: "<seconds>",
    default: 30,
    min: 0,
    max: 3600,
    description: "Longest time that requests under way get to finish when the server stops",
  }),
  log: {
    level: choiceOption({
      flag: "log-level",
      choices: ["debug", "info", "warn", "error", "silent"],
      default: "warn",
      description:
        "Least severity that is written to the log, as JSON lines on standard error; info has one for each request",
    }),
  },
};
