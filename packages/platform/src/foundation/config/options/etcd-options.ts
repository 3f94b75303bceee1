// Options of the connection to etcd, named as in kube-apiserver.
// Source: k8s.io/apiserver/pkg/server/options/etcd.go

import { choiceOption, switchOption, textOption } from "../option.ts";

const file = (flag: string, defaultText: string, description: string) =>
  textOption({ flag, placeholder: "<file>", default: "", defaultText, description });

export const etcdOptions = {
  etcd: {
    caFile: file("etcd-cafile", "no TLS", "PEM file with the CA certificates to verify etcd with; turns TLS on"),
    certFile: file("etcd-certfile", "none", "PEM file with the client certificate for etcd; needs --etcd-keyfile"),
    keyFile: file("etcd-keyfile", "none", "PEM file with the private key of --etcd-certfile"),
    prefix: textOption({
      flag: "etcd-prefix",
      placeholder: "<prefix>",
      default: "/postern",
      description: "Prefix of all keys in etcd; use a different one for each installation that shares the etcd",
    }),
    newInstallation: switchOption({
      flag: "etcd-new-installation",
      default: false,
      description: "Allow a first start with an empty --etcd-prefix in an etcd that has other keys",
    }),
    compaction: choiceOption({
      flag: "etcd-compaction",
      choices: ["unless-shared", "always", "never"],
      default: "unless-shared",
      description:
        "Whether to compact the history of etcd, which covers all keys in it; unless-shared does not while there are keys outside the prefix",
    }),
  },
};
