// Options of the connection to etcd, named as in kube-apiserver.
// Source: k8s.io/apiserver/pkg/server/options/etcd.go

import { choiceOption, switchOption, textOption } from "../option.ts";

const file = (flag: string, defaultText: string, description: string) =>
  textOption({ flag, placeholder: "<file>", default: "", defaultText, description });

export const etcdOptions = {
  etcd: {
    caFile: file(
      "etcd-cafile",
      "no TLS",
      "PEM file with the authorities that etcd's certificates are trusted from; turns TLS on",
    ),
    certFile: file(
      "etcd-certfile",
      "none",
      "PEM file with the client certificate that etcd wants; needs --etcd-keyfile",
    ),
    keyFile: file("etcd-keyfile", "none", "PEM file with the private key of --etcd-certfile"),
    prefix: textOption({
      flag: "etcd-prefix",
      placeholder: "<prefix>",
      default: "/postern",
      description: "What all keys in etcd begin with; another one for each installation that shares the etcd",
    }),
    newInstallation: switchOption({
      flag: "etcd-new-installation",
      default: false,
      description:
        "Begin below an --etcd-prefix that is empty, although the etcd holds keys of others; for a first start",
    }),
    compaction: choiceOption({
      flag: "etcd-compaction",
      choices: ["unless-shared", "always", "never"],
      default: "unless-shared",
      description:
        "When the history of the etcd, which is that of all its keys, is compacted; unless-shared leaves it to whoever runs the etcd while others have keys there",
    }),
  },
};
