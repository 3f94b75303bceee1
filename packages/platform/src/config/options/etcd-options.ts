// Options of the connection to etcd, named as in kube-apiserver.
// Source: k8s.io/apiserver/pkg/server/options/etcd.go

import { textOption } from "../option.ts";

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
  },
};
