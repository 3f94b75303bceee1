// Options of the server: data directory, store and addresses.

import { choiceOption, integerOption, listOption, switchOption, textOption } from "../option.ts";
import { hostAndPortOrEmpty, hostNames, ipAddress, networks, notEmpty } from "../rules.ts";
import { storeAddress } from "../store-address.ts";

export const serverOptions = {
  dataDir: textOption({
    flag: "data-dir",
    placeholder: "<directory>",
    default: "./data",
    description: "Directory for the store, certificates, keys and admin.kubeconfig",
    rule: notEmpty,
  }),
  bootstrap: {
    dir: textOption({
      flag: "bootstrap-dir",
      placeholder: "<directory>",
      default: "",
      defaultText: "none",
      description:
        "Directory of manifests (.yaml, .yml, .json) to apply at every start, by server-side apply as postern-bootstrap",
    }),
    drift: choiceOption({
      flag: "bootstrap-drift",
      choices: ["report", "overwrite"],
      default: "report",
      description:
        "What to do with fields of --bootstrap-dir that were changed since: report keeps and reports them, overwrite reports and resets them",
    }),
  },
  bindAddress: textOption({
    flag: "bind-address",
    placeholder: "<ip>",
    default: "127.0.0.1",
    description: "IP address to listen on; 0.0.0.0 or :: for all addresses",
    rule: ipAddress,
  }),
  securePort: integerOption({
    flag: "secure-port",
    placeholder: "<port>",
    default: 8443,
    min: 0,
    max: 65535,
    description: "Port to serve HTTPS on; 0 for any free port, which is printed",
  }),
  externalHostname: textOption({
    flag: "external-hostname",
    placeholder: "<host[:port]>",
    default: "",
    defaultText: "address and port the server listens on",
    description: "Host, or host and port, at which clients reach the server; written into kubeconfigs",
    rule: hostAndPortOrEmpty,
  }),
  trustedProxies: {
    networks: listOption({
      flag: "trusted-proxies",
      placeholder: "<network,…>",
      default: [],
      defaultText: "none",
      description:
        "Addresses and networks of the proxies and load balancers in front of the server, such as 10.20.0.0/16: limits, the audit log and source ranges of access keys use the client's address that they name",
      rule: networks,
    }),
    header: choiceOption({
      flag: "forwarded-header",
      choices: ["x-forwarded-for", "forwarded"],
      default: "x-forwarded-for",
      description:
        "Header in which --trusted-proxies name the client. They must add the client's address at its end, or overwrite it",
    }),
    sendProxyProtocol: switchOption({
      flag: "proxy-protocol",
      default: false,
      description:
        "Whether connections from --trusted-proxies begin with a header of the PROXY protocol, version 1 or 2, as those of load balancers that leave TLS to the server; without one they are closed",
    }),
  },
  outboundProxy: {
    forTenants: switchOption({
      flag: "outbound-proxy-for-tenants",
      default: false,
      description:
        "Whether external virtual clusters, issuers and webhooks that projects name are reached through the HTTP proxy of HTTPS_PROXY as well. The proxy resolves their names, and has to refuse addresses of the platform's network",
    }),
  },
  console: switchOption({
    flag: "console",
    default: true,
    description: "Whether to serve the web console at /, and the documentation at /docs",
  }),
  printSignInLink: switchOption({
    flag: "print-sign-in-link",
    default: false,
    description:
      "Whether a start prints the one-time link of the administrator also if the standard output is not a terminal",
  }),
  tlsCertFile: textOption({
    flag: "tls-cert-file",
    placeholder: "<file>",
    default: "",
    defaultText: "created and signed by the server's own CA",
    description:
      "PEM file with the server's certificate, followed by its intermediates; needs --tls-private-key-file. A renewed one is used without a restart",
  }),
  tlsPrivateKeyFile: textOption({
    flag: "tls-private-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "created with the certificate",
    description: "PEM file with the private key of --tls-cert-file",
  }),
  tlsCaFile: textOption({
    flag: "tls-ca-file",
    placeholder: "<file>",
    default: "",
    defaultText: "none: the machines of clients trust it already",
    description:
      "PEM file with the CA certificates that verify --tls-cert-file; written into kubeconfigs. A file that is absent or empty counts as none",
  }),
  tlsSans: listOption({
    flag: "tls-san",
    placeholder: "<host,ip,…>",
    default: [],
    defaultText: "none",
    description: "Additional host names and IP addresses for the server's own certificate",
    rule: hostNames,
  }),
  serverKeyFile: textOption({
    flag: "server-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "server.key in the data directory",
    description:
      "File with the server key, which decrypts the key ring in the store; without it, all access keys are lost",
  }),
  serverKeyCommand: textOption({
    flag: "server-key-command",
    placeholder: "<command>",
    default: "",
    defaultText: "none",
    description:
      "Command that prints the server key as 64 hexadecimal digits, for example from a key management service; instead of --server-key-file",
  }),
  previousServerKeyFile: textOption({
    flag: "previous-server-key-file",
    placeholder: "<file>",
    default: "",
    defaultText: "none",
    description: "File with the previous server key, until every server uses the new one",
  }),
  store: textOption({
    flag: "store",
    placeholder: "<store>",
    default: "sqlite",
    description:
      "Store: sqlite (postern.db in the data directory), sqlite:<file>, memory (lost at exit) or etcd://<host:port>,…",
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
    description: "Time for open requests to finish when the server stops",
  }),
  log: {
    level: choiceOption({
      flag: "log-level",
      choices: ["debug", "info", "warn", "error", "silent"],
      default: "warn",
      description: "Log level, for JSON lines on standard error; info has one line per request",
    }),
  },
};
