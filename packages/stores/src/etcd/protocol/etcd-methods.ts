// The typed methods of etcd's v3 API, built from the text of the protocol.

import protobuf from "protobufjs";
import type { GrpcMethod } from "../grpc/grpc-channel.ts";
import type * as messages from "./etcd-messages.ts";
import { ETCD_PROTOCOL } from "./etcd-protocol.ts";

const PACKAGE = "etcdserverpb";

export type EtcdMethods = {
  readonly range: GrpcMethod<messages.RangeRequest, messages.RangeResponse>;
  readonly txn: GrpcMethod<messages.TxnRequest, messages.TxnResponse>;
  readonly compact: GrpcMethod<messages.CompactionRequest, messages.CompactionResponse>;
  readonly watch: GrpcMethod<messages.WatchRequest, messages.WatchResponse>;
  readonly leaseGrant: GrpcMethod<messages.LeaseGrantRequest, messages.LeaseGrantResponse>;
  readonly leaseRevoke: GrpcMethod<messages.LeaseRevokeRequest, messages.LeaseRevokeResponse>;
  readonly leaseKeepAlive: GrpcMethod<messages.LeaseKeepAliveRequest, messages.LeaseKeepAliveResponse>;
  readonly alarm: GrpcMethod<messages.AlarmRequest, messages.AlarmResponse>;
  readonly status: GrpcMethod<messages.StatusRequest, messages.StatusResponse>;
};

export function loadEtcdMethods(): EtcdMethods {
  const { root } = protobuf.parse(ETCD_PROTOCOL, { keepCase: true });
  const method = <Request, Response>(service: string, name: string): GrpcMethod<Request, Response> => {
    const { requestType, responseType } = root.lookupService(`${PACKAGE}.${service}`).methods[name] ?? {};
    if (requestType === undefined || responseType === undefined) throw new TypeError("the protocol lacks a method");
    const [request, response] = [
      root.lookupType(`${PACKAGE}.${requestType}`),
      root.lookupType(`${PACKAGE}.${responseType}`),
    ];
    return {
      path: `/${PACKAGE}.${service}/${name}`,
      // The types of etcd-messages.ts match the protocol field by field.
      serialize: (message) => request.encode(request.fromObject(message as object)).finish(),
      deserialize: (bytes) => response.toObject(response.decode(bytes), { longs: Number, enums: String }) as Response,
    };
  };
  return {
    range: method("KV", "Range"),
    txn: method("KV", "Txn"),
    compact: method("KV", "Compact"),
    watch: method("Watch", "Watch"),
    leaseGrant: method("Lease", "LeaseGrant"),
    leaseRevoke: method("Lease", "LeaseRevoke"),
    leaseKeepAlive: method("Lease", "LeaseKeepAlive"),
    alarm: method("Maintenance", "Alarm"),
    status: method("Maintenance", "Status"),
  };
}
