// The messages of etcd's v3 API as the protocol file describes them. Fields at their default (zero, empty, false) are absent.

export type ResponseHeader = {
  /** A number that identifies the cluster; its last digits are rounded. */
  readonly cluster_id?: number;
  readonly revision?: number;
};

export type KeyValue = {
  readonly key?: Uint8Array;
  readonly create_revision?: number;
  readonly mod_revision?: number;
  readonly value?: Uint8Array;
};

export type EtcdEvent = {
  readonly type?: "PUT" | "DELETE";
  readonly kv?: KeyValue;
  readonly prev_kv?: KeyValue;
};

export type RangeRequest = {
  readonly key: Uint8Array;
  readonly range_end?: Uint8Array;
  /** 0 means all. */
  readonly limit?: number;
  /** 0 means the newest. */
  readonly revision?: number;
  readonly count_only?: boolean;
  readonly keys_only?: boolean;
};

export type RangeResponse = {
  readonly header?: ResponseHeader;
  readonly kvs?: readonly KeyValue[];
  /** The number in the whole range, whatever the limit. */
  readonly count?: number;
};

export type RequestOp =
  | { readonly request_range: RangeRequest }
  | { readonly request_put: { readonly key: Uint8Array; readonly value?: Uint8Array; readonly lease?: number } }
  | { readonly request_delete_range: { readonly key: Uint8Array } };

/** The modification revision of an absent key is 0. */
export type Compare = { readonly target: "MOD"; readonly key: Uint8Array; readonly mod_revision: number };

export type TxnRequest = {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure?: readonly RequestOp[];
};

export type TxnResponse = {
  readonly header?: ResponseHeader;
  readonly succeeded?: boolean;
  readonly responses?: readonly { readonly response_range?: RangeResponse }[];
};

export type CompactionRequest = { readonly revision: number };
export type CompactionResponse = { readonly header?: ResponseHeader };

export type WatchRequest =
  | {
      readonly create_request: {
        readonly key: Uint8Array;
        readonly range_end?: Uint8Array;
        /** Inclusive; 0 means now. */
        readonly start_revision: number;
        readonly prev_kv?: boolean;
      };
    }
  | { readonly progress_request: Record<never, never> };

export type WatchResponse = {
  readonly header?: ResponseHeader;
  readonly created?: boolean;
  readonly canceled?: boolean;
  readonly compact_revision?: number;
  readonly cancel_reason?: string;
  readonly events?: readonly EtcdEvent[];
};

export type LeaseGrantRequest = { readonly TTL: number; readonly ID: number };
export type LeaseGrantResponse = { readonly ID?: number; readonly TTL?: number; readonly error?: string };
export type LeaseRevokeRequest = { readonly ID: number };
export type LeaseRevokeResponse = { readonly header?: ResponseHeader };
export type LeaseKeepAliveRequest = { readonly ID: number };
/** An expired lease has no TTL. */
export type LeaseKeepAliveResponse = { readonly ID?: number; readonly TTL?: number };

export type StatusRequest = Record<never, never>;
export type StatusResponse = {
  readonly version?: string;
  /** Size of the file in bytes. */
  readonly dbSize?: number;
  /** Bytes of it in use. */
  readonly dbSizeInUse?: number;
  /** Bytes; from etcd 3.6 on. */
  readonly dbSizeQuota?: number;
  /** ID of the leader; absent without one. */
  readonly leader?: number;
  readonly errors?: readonly string[];
};

export type AlarmRequest = { readonly action: "GET" };
export type AlarmResponse = { readonly alarms?: readonly { readonly alarm?: "NONE" | "NOSPACE" | "CORRUPT" }[] };
