// The calls of etcd's v3 API with their types, made from the text of the protocol.

import { fromJSON, type MethodDefinition, type ServiceDefinition } from "@grpc/proto-loader";
import protobuf from "protobufjs";
import type * as messages from "./etcd-messages.ts";
import { ETCD_PROTOCOL } from "./etcd-protocol.ts";

/** How the messages of one call are written and read. */
export type EtcdMethod<Request, Response> = {
  readonly path: string;
  readonly serialize: (request: Request) => Buffer;
  readonly deserialize: (bytes: Buffer) => Response;
};

export type EtcdMethods = {
  readonly range: EtcdMethod<messages.RangeRequest, messages.RangeResponse>;
  readonly txn: EtcdMethod<messages.TxnRequest, messages.TxnResponse>;
  readonly compact: EtcdMethod<messages.CompactionRequest, messages.CompactionResponse>;
  readonly watch: EtcdMethod<messages.WatchRequest, messages.WatchResponse>;
  readonly leaseGrant: EtcdMethod<messages.LeaseGrantRequest, messages.LeaseGrantResponse>;
  readonly leaseRevoke: EtcdMethod<messages.LeaseRevokeRequest, messages.LeaseRevokeResponse>;
  readonly leaseKeepAlive: EtcdMethod<messages.LeaseKeepAliveRequest, messages.LeaseKeepAliveResponse>;
  readonly status: EtcdMethod<messages.StatusRequest, messages.StatusResponse>;
};

export function loadEtcdMethods(): EtcdMethods {
  const { root } = protobuf.parse(ETCD_PROTOCOL, { keepCase: true });
  const definitions = fromJSON(root.toJSON(), { keepCase: true, longs: Number, enums: String });
  const service = (name: string) => {
    const definition = definitions[`etcdserverpb.${name}`];
    // Everything asked for below is a service of the protocol.
    return definition as ServiceDefinition;
  };
  const [kv, watch, lease, maintenance] = [service("KV"), service("Watch"), service("Lease"), service("Maintenance")];
  return {
    range: method(kv["Range"]),
    txn: method(kv["Txn"]),
    compact: method(kv["Compact"]),
    watch: method(watch["Watch"]),
    leaseGrant: method(lease["LeaseGrant"]),
    leaseRevoke: method(lease["LeaseRevoke"]),
    leaseKeepAlive: method(lease["LeaseKeepAlive"]),
    status: method(maintenance["Status"]),
  };
}

function method<Request, Response>(
  definition: MethodDefinition<object, object> | undefined,
): EtcdMethod<Request, Response> {
  if (definition === undefined) throw new TypeError("the protocol lacks a method");
  // The types of etcd-messages.ts say what the protocol says, field by field.
  return {
    path: definition.path,
    serialize: definition.requestSerialize as (request: unknown) => Buffer,
    deserialize: definition.responseDeserialize as (bytes: Buffer) => object as (bytes: Buffer) => Response,
  };
}
