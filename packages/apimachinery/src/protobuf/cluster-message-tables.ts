// The protobuf messages of the kinds of a whole cluster: `number:name:type`, field by field. A name that is empty stands for members of the
// message itself; `?` is a pointer in Go, whose emptiness counts; `{}` is a map, by texts.
// Source: k8s.io/api/{core,apps,batch,networking,policy,scheduling,storage,node,discovery,autoscaling,coordination}/*/generated.proto,
// k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/generated.proto

import { EXTENSION_MESSAGES } from "./extension-message-tables.ts";

/** By the name of the message. */
export const CLUSTER_MESSAGES: { readonly [message: string]: string } = {
  ServicePort: "1:name:s 2:protocol:s 3:port:i 4:targetPort:intOrString 5:nodePort:i 6:appProtocol:s?",
  ClientIPConfig: "1:timeoutSeconds:i?",
  SessionAffinityConfig: "1:clientIP:ClientIPConfig",
  ServiceSpec:
    "1:ports:[]ServicePort 2:selector:{}s 3:clusterIP:s 4:type:s 5:externalIPs:[]s 7:sessionAffinity:s 8:loadBalancerIP:s 9:loadBalancerSourceRanges:[]s 10:externalName:s 11:externalTrafficPolicy:s 12:healthCheckNodePort:i 13:publishNotReadyAddresses:b 14:sessionAffinityConfig:SessionAffinityConfig 17:ipFamilyPolicy:s? 18:clusterIPs:[]s 19:ipFamilies:[]s 20:allocateLoadBalancerNodePorts:b? 21:loadBalancerClass:s? 22:internalTrafficPolicy:s? 23:trafficDistribution:s?",
  PortStatus: "1:port:i 2:protocol:s 3:error:s?",
  LoadBalancerIngress: "1:ip:s 2:hostname:s 3:ipMode:s? 4:ports:[]PortStatus",
  LoadBalancerStatus: "1:ingress:[]LoadBalancerIngress",
  ServiceStatus: "1:loadBalancer:LoadBalancerStatus 2:conditions:[]condition",
  Service: "1:metadata:meta 2:spec:ServiceSpec 3:status:ServiceStatus",
  ObjectReference: "1:kind:s 2:namespace:s 3:name:s 4:uid:s 5:apiVersion:s 6:resourceVersion:s 7:fieldPath:s",
  EndpointAddress: "1:ip:s 2:targetRef:ObjectReference 3:hostname:s 4:nodeName:s?",
  EndpointPort: "1:name:s 2:port:i 3:protocol:s 4:appProtocol:s?",
  EndpointSubset: "1:addresses:[]EndpointAddress 2:notReadyAddresses:[]EndpointAddress 3:ports:[]EndpointPort",
  Endpoints: "1:metadata:meta 2:subsets:[]EndpointSubset",
  ScopedResourceSelectorRequirement: "1:scopeName:s 2:operator:s 3:values:[]s",
  ScopeSelector: "1:matchExpressions:[]ScopedResourceSelectorRequirement",
  ResourceQuotaSpec: "1:hard:{}quantity 2:scopes:[]s 3:scopeSelector:ScopeSelector",
  ResourceQuotaStatus: "1:hard:{}quantity 2:used:{}quantity",
  ResourceQuota: "1:metadata:meta 2:spec:ResourceQuotaSpec 3:status:ResourceQuotaStatus",
  LimitRangeItem:
    "1:type:s 2:max:{}quantity 3:min:{}quantity 4:default:{}quantity 5:defaultRequest:{}quantity 6:maxLimitRequestRatio:{}quantity",
  LimitRangeSpec: "1:limits:[]LimitRangeItem",
  LimitRange: "1:metadata:meta 2:spec:LimitRangeSpec",
  HostPathVolumeSource: "1:path:s 2:type:s?",
  EmptyDirVolumeSource: "1:medium:s 2:sizeLimit:quantity 3:mode:i?",
  GCEPersistentDiskVolumeSource: "1:pdName:s 2:fsType:s 3:partition:i 4:readOnly:b",
  AWSElasticBlockStoreVolumeSource: "1:volumeID:s 2:fsType:s 3:partition:i 4:readOnly:b",
  GitRepoVolumeSource: "1:repository:s 2:revision:s 3:directory:s",
  KeyToPath: "1:key:s 2:path:s 3:mode:i? 4:user:i?",
  SecretVolumeSource: "1:secretName:s 2:items:[]KeyToPath 3:defaultMode:i? 4:optional:b? 5:defaultUser:i?",
  NFSVolumeSource: "1:server:s 2:path:s 3:readOnly:b",
  LocalObjectReference: "1:name:s",
  ISCSIVolumeSource:
    "1:targetPortal:s 2:iqn:s 3:lun:i 4:iscsiInterface:s 5:fsType:s 6:readOnly:b 7:portals:[]s 8:chapAuthDiscovery:b 10:secretRef:LocalObjectReference 11:chapAuthSession:b 12:initiatorName:s?",
  GlusterfsVolumeSource: "1:endpoints:s 2:path:s 3:readOnly:b",
  PersistentVolumeClaimVolumeSource: "1:claimName:s 2:readOnly:b",
  RBDVolumeSource:
    "1:monitors:[]s 2:image:s 3:fsType:s 4:pool:s 5:user:s 6:keyring:s 7:secretRef:LocalObjectReference 8:readOnly:b",
  FlexVolumeSource: "1:driver:s 2:fsType:s 3:secretRef:LocalObjectReference 4:readOnly:b 5:options:{}s",
  CinderVolumeSource: "1:volumeID:s 2:fsType:s 3:readOnly:b 4:secretRef:LocalObjectReference",
  CephFSVolumeSource: "1:monitors:[]s 2:path:s 3:user:s 4:secretFile:s 5:secretRef:LocalObjectReference 6:readOnly:b",
  FlockerVolumeSource: "1:datasetName:s 2:datasetUUID:s",
  ObjectFieldSelector: "1:apiVersion:s 2:fieldPath:s",
  ResourceFieldSelector: "1:containerName:s 2:resource:s 3:divisor:quantity",
  DownwardAPIVolumeFile:
    "1:path:s 2:fieldRef:ObjectFieldSelector 3:resourceFieldRef:ResourceFieldSelector 4:mode:i? 5:user:i?",
  DownwardAPIVolumeSource: "1:items:[]DownwardAPIVolumeFile 2:defaultMode:i? 3:defaultUser:i?",
  FCVolumeSource: "1:targetWWNs:[]s 2:lun:i? 3:fsType:s 4:readOnly:b 5:wwids:[]s",
  AzureFileVolumeSource: "1:secretName:s 2:shareName:s 3:readOnly:b",
  ConfigMapVolumeSource: "1::LocalObjectReference 2:items:[]KeyToPath 3:defaultMode:i? 4:optional:b? 5:defaultUser:i?",
  VsphereVirtualDiskVolumeSource: "1:volumePath:s 2:fsType:s 3:storagePolicyName:s 4:storagePolicyID:s",
  QuobyteVolumeSource: "1:registry:s 2:volume:s 3:readOnly:b 4:user:s 5:group:s 6:tenant:s",
  AzureDiskVolumeSource: "1:diskName:s 2:diskURI:s 3:cachingMode:s? 4:fsType:s? 5:readOnly:b? 6:kind:s?",
  PhotonPersistentDiskVolumeSource: "1:pdID:s 2:fsType:s",
  SecretProjection: "1::LocalObjectReference 2:items:[]KeyToPath 4:optional:b?",
  DownwardAPIProjection: "1:items:[]DownwardAPIVolumeFile",
  ConfigMapProjection: "1::LocalObjectReference 2:items:[]KeyToPath 4:optional:b?",
  ServiceAccountTokenProjection: "1:audience:s 2:expirationSeconds:i? 3:path:s 4:user:i?",
  ClusterTrustBundleProjection: "1:name:s? 2:signerName:s? 3:labelSelector:selector 4:path:s 5:optional:b? 6:user:i?",
  PodCertificateProjection:
    "1:signerName:s 2:keyType:s 3:maxExpirationSeconds:i? 4:credentialBundlePath:s 5:keyPath:s 6:certificateChainPath:s 7:userAnnotations:{}s 8:user:i?",
  VolumeProjection:
    "1:secret:SecretProjection 2:downwardAPI:DownwardAPIProjection 3:configMap:ConfigMapProjection 4:serviceAccountToken:ServiceAccountTokenProjection 5:clusterTrustBundle:ClusterTrustBundleProjection 6:podCertificate:PodCertificateProjection",
  ProjectedVolumeSource: "1:sources:[]VolumeProjection 2:defaultMode:i? 3:defaultUser:i?",
  PortworxVolumeSource: "1:volumeID:s 2:fsType:s 3:readOnly:b",
  ScaleIOVolumeSource:
    "1:gateway:s 2:system:s 3:secretRef:LocalObjectReference 4:sslEnabled:b 5:protectionDomain:s 6:storagePool:s 7:storageMode:s 8:volumeName:s 9:fsType:s 10:readOnly:b",
  StorageOSVolumeSource: "1:volumeName:s 2:volumeNamespace:s 3:fsType:s 4:readOnly:b 5:secretRef:LocalObjectReference",
  CSIVolumeSource:
    "1:driver:s 2:readOnly:b? 3:fsType:s? 4:volumeAttributes:{}s 5:nodePublishSecretRef:LocalObjectReference",
  PersistentVolumeClaimTemplate: "1:metadata:meta 2:spec:PersistentVolumeClaimSpec",
  EphemeralVolumeSource: "1:volumeClaimTemplate:PersistentVolumeClaimTemplate",
  ImageVolumeSource: "1:reference:s 2:pullPolicy:s",
  VolumeSource:
    "1:hostPath:HostPathVolumeSource 2:emptyDir:EmptyDirVolumeSource 3:gcePersistentDisk:GCEPersistentDiskVolumeSource 4:awsElasticBlockStore:AWSElasticBlockStoreVolumeSource 5:gitRepo:GitRepoVolumeSource 6:secret:SecretVolumeSource 7:nfs:NFSVolumeSource 8:iscsi:ISCSIVolumeSource 9:glusterfs:GlusterfsVolumeSource 10:persistentVolumeClaim:PersistentVolumeClaimVolumeSource 11:rbd:RBDVolumeSource 12:flexVolume:FlexVolumeSource 13:cinder:CinderVolumeSource 14:cephfs:CephFSVolumeSource 15:flocker:FlockerVolumeSource 16:downwardAPI:DownwardAPIVolumeSource 17:fc:FCVolumeSource 18:azureFile:AzureFileVolumeSource 19:configMap:ConfigMapVolumeSource 20:vsphereVolume:VsphereVirtualDiskVolumeSource 21:quobyte:QuobyteVolumeSource 22:azureDisk:AzureDiskVolumeSource 23:photonPersistentDisk:PhotonPersistentDiskVolumeSource 24:portworxVolume:PortworxVolumeSource 25:scaleIO:ScaleIOVolumeSource 26:projected:ProjectedVolumeSource 27:storageos:StorageOSVolumeSource 28:csi:CSIVolumeSource 29:ephemeral:EphemeralVolumeSource 30:image:ImageVolumeSource",
  Volume: "1:name:s 2::VolumeSource",
  ContainerPort: "1:name:s 2:hostPort:i 3:containerPort:i 4:protocol:s 5:hostIP:s",
  ConfigMapEnvSource: "1::LocalObjectReference 2:optional:b?",
  SecretEnvSource: "1::LocalObjectReference 2:optional:b?",
  EnvFromSource: "1:prefix:s 2:configMapRef:ConfigMapEnvSource 3:secretRef:SecretEnvSource",
  ConfigMapKeySelector: "1::LocalObjectReference 2:key:s 3:optional:b?",
  SecretKeySelector: "1::LocalObjectReference 2:key:s 3:optional:b?",
  FileKeySelector: "1:volumeName:s 2:path:s 3:key:s 4:optional:b?",
  EnvVarSource:
    "1:fieldRef:ObjectFieldSelector 2:resourceFieldRef:ResourceFieldSelector 3:configMapKeyRef:ConfigMapKeySelector 4:secretKeyRef:SecretKeySelector 5:fileKeyRef:FileKeySelector",
  EnvVar: "1:name:s 2:value:s 3:valueFrom:EnvVarSource",
  ResourceClaim: "1:name:s 2:request:s",
  ResourceRequirements: "1:limits:{}quantity 2:requests:{}quantity 3:claims:[]ResourceClaim",
  ContainerResizePolicy: "1:resourceName:s 2:restartPolicy:s",
  ContainerRestartRuleOnExitCodes: "1:operator:s 2:values:[]i",
  ContainerRestartRule: "1:action:s 2:exitCodes:ContainerRestartRuleOnExitCodes",
  VolumeMount:
    "1:name:s 2:readOnly:b 3:mountPath:s 4:subPath:s 5:mountPropagation:s? 6:subPathExpr:s 7:recursiveReadOnly:s? 8:bindMountOptions:[]s",
  VolumeDevice: "1:name:s 2:devicePath:s",
  ExecAction: "1:command:[]s",
  HTTPHeader: "1:name:s 2:value:s",
  HTTPGetAction: "1:path:s 2:port:intOrString 3:host:s 4:scheme:s 5:httpHeaders:[]HTTPHeader 6:protocol:s?",
  TCPSocketAction: "1:port:intOrString 2:host:s",
  GRPCAction: "1:port:i 2:service:s? 3:mode:s?",
  ProbeHandler: "1:exec:ExecAction 2:httpGet:HTTPGetAction 3:tcpSocket:TCPSocketAction 4:grpc:GRPCAction",
  Probe:
    "1::ProbeHandler 2:initialDelaySeconds:i 3:timeoutSeconds:i 4:periodSeconds:i 5:successThreshold:i 6:failureThreshold:i 7:terminationGracePeriodSeconds:i?",
  SleepAction: "1:seconds:i",
  LifecycleHandler: "1:exec:ExecAction 2:httpGet:HTTPGetAction 3:tcpSocket:TCPSocketAction 4:sleep:SleepAction",
  Lifecycle: "1:postStart:LifecycleHandler 2:preStop:LifecycleHandler 3:stopSignal:s?",
  Capabilities: "1:add:[]s 2:drop:[]s",
  SELinuxOptions: "1:user:s 2:role:s 3:type:s 4:level:s",
  WindowsSecurityContextOptions:
    "1:gmsaCredentialSpecName:s? 2:gmsaCredentialSpec:s? 3:runAsUserName:s? 4:hostProcess:b?",
  SeccompProfile: "1:type:s 2:localhostProfile:s?",
  AppArmorProfile: "1:type:s 2:localhostProfile:s?",
  SecurityContext:
    "1:capabilities:Capabilities 2:privileged:b? 3:seLinuxOptions:SELinuxOptions 4:runAsUser:i? 5:runAsNonRoot:b? 6:readOnlyRootFilesystem:b? 7:allowPrivilegeEscalation:b? 8:runAsGroup:i? 9:procMount:s? 10:windowsOptions:WindowsSecurityContextOptions 11:seccompProfile:SeccompProfile 12:appArmorProfile:AppArmorProfile",
  Container:
    "1:name:s 2:image:s 3:command:[]s 4:args:[]s 5:workingDir:s 6:ports:[]ContainerPort 7:env:[]EnvVar 8:resources:ResourceRequirements 9:volumeMounts:[]VolumeMount 10:livenessProbe:Probe 11:readinessProbe:Probe 12:lifecycle:Lifecycle 13:terminationMessagePath:s 14:imagePullPolicy:s 15:securityContext:SecurityContext 16:stdin:b 17:stdinOnce:b 18:tty:b 19:envFrom:[]EnvFromSource 20:terminationMessagePolicy:s 21:volumeDevices:[]VolumeDevice 22:startupProbe:Probe 23:resizePolicy:[]ContainerResizePolicy 24:restartPolicy:s? 25:restartPolicyRules:[]ContainerRestartRule",
  // EphemeralContainerCommon has the numbers of Container.
  EphemeralContainer: "1::Container 2:targetContainerName:s",
  Sysctl: "1:name:s 2:value:s",
  PodSecurityContext:
    "1:seLinuxOptions:SELinuxOptions 2:runAsUser:i? 3:runAsNonRoot:b? 4:supplementalGroups:[]i 5:fsGroup:i? 6:runAsGroup:i? 7:sysctls:[]Sysctl 8:windowsOptions:WindowsSecurityContextOptions 9:fsGroupChangePolicy:s? 10:seccompProfile:SeccompProfile 11:appArmorProfile:AppArmorProfile 12:supplementalGroupsPolicy:s? 13:seLinuxChangePolicy:s?",
  NodeSelectorRequirement: "1:key:s 2:operator:s 3:values:[]s",
  NodeSelectorTerm: "1:matchExpressions:[]NodeSelectorRequirement 2:matchFields:[]NodeSelectorRequirement",
  NodeSelector: "1:nodeSelectorTerms:[]NodeSelectorTerm",
  PreferredSchedulingTerm: "1:weight:i 2:preference:NodeSelectorTerm",
  NodeAffinity:
    "1:requiredDuringSchedulingIgnoredDuringExecution:NodeSelector 2:preferredDuringSchedulingIgnoredDuringExecution:[]PreferredSchedulingTerm",
  PodAffinityTerm:
    "1:labelSelector:selector 2:namespaces:[]s 3:topologyKey:s 4:namespaceSelector:selector 5:matchLabelKeys:[]s 6:mismatchLabelKeys:[]s",
  WeightedPodAffinityTerm: "1:weight:i 2:podAffinityTerm:PodAffinityTerm",
  PodAffinity:
    "1:requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm",
  PodAntiAffinity:
    "1:requiredDuringSchedulingIgnoredDuringExecution:[]PodAffinityTerm 2:preferredDuringSchedulingIgnoredDuringExecution:[]WeightedPodAffinityTerm",
  Affinity: "1:nodeAffinity:NodeAffinity 2:podAffinity:PodAffinity 3:podAntiAffinity:PodAntiAffinity",
  Toleration: "1:key:s 2:operator:s 3:value:s 4:effect:s 5:tolerationSeconds:i?",
  HostAlias: "1:ip:s 2:hostnames:[]s",
  PodDNSConfigOption: "1:name:s 2:value:s?",
  PodDNSConfig: "1:nameservers:[]s 2:searches:[]s 3:options:[]PodDNSConfigOption",
  PodReadinessGate: "1:conditionType:s",
  TopologySpreadConstraint:
    "1:maxSkew:i 2:topologyKey:s 3:whenUnsatisfiable:s 4:labelSelector:selector 5:minDomains:i? 6:nodeAffinityPolicy:s? 7:nodeTaintsPolicy:s? 8:matchLabelKeys:[]s",
  PodOS: "1:name:s",
  PodSchedulingGate: "1:name:s",
  PodResourceClaim: "1:name:s 3:resourceClaimName:s? 4:resourceClaimTemplateName:s?",
  PodSchedulingGroup: "1:podGroupName:s?",
  EvictionResponder: "1:name:s 2:priority:i?",
  PodSpec:
    "1:volumes:[]Volume 2:containers:[]Container 3:restartPolicy:s 4:terminationGracePeriodSeconds:i? 5:activeDeadlineSeconds:i? 6:dnsPolicy:s 7:nodeSelector:{}s 8:serviceAccountName:s 9:serviceAccount:s 10:nodeName:s 11:hostNetwork:b 12:hostPID:b 13:hostIPC:b 14:securityContext:PodSecurityContext 15:imagePullSecrets:[]LocalObjectReference 16:hostname:s 17:subdomain:s 18:affinity:Affinity 19:schedulerName:s 20:initContainers:[]Container 21:automountServiceAccountToken:b? 22:tolerations:[]Toleration 23:hostAliases:[]HostAlias 24:priorityClassName:s 25:priority:i? 26:dnsConfig:PodDNSConfig 27:shareProcessNamespace:b? 28:readinessGates:[]PodReadinessGate 29:runtimeClassName:s? 30:enableServiceLinks:b? 31:preemptionPolicy:s? 32:overhead:{}quantity 33:topologySpreadConstraints:[]TopologySpreadConstraint 34:ephemeralContainers:[]EphemeralContainer 35:setHostnameAsFQDN:b? 36:os:PodOS 37:hostUsers:b? 38:schedulingGates:[]PodSchedulingGate 39:resourceClaims:[]PodResourceClaim 40:resources:ResourceRequirements 41:hostnameOverride:s? 43:schedulingGroup:PodSchedulingGroup 44:evictionResponders:[]EvictionResponder",
  PodCondition:
    "1:type:s 2:status:s 3:lastProbeTime:time 4:lastTransitionTime:time 5:reason:s 6:message:s 7:observedGeneration:i",
  HostIP: "1:ip:s",
  PodIP: "1:ip:s",
  ContainerStateWaiting: "1:reason:s 2:message:s",
  ContainerStateRunning: "1:startedAt:time",
  ContainerStateTerminated:
    "1:exitCode:i 2:signal:i 3:reason:s 4:message:s 5:startedAt:time 6:finishedAt:time 7:containerID:s",
  ContainerState:
    "1:waiting:ContainerStateWaiting 2:running:ContainerStateRunning 3:terminated:ContainerStateTerminated",
  ImageVolumeStatus: "1:imageRef:s",
  VolumeStatus: "1:image:ImageVolumeStatus",
  VolumeMountStatus: "1:name:s 2:mountPath:s 3:readOnly:b 4:recursiveReadOnly:s? 5:volumeStatus:VolumeStatus",
  LinuxContainerUser: "1:uid:i 2:gid:i 3:supplementalGroups:[]i",
  ContainerUser: "1:linux:LinuxContainerUser",
  ResourceHealth: "1:resourceID:s 2:health:s 6:message:s?",
  ResourceStatus: "1:name:s 2:resources:[]ResourceHealth",
  ContainerStatus:
    "1:name:s 2:state:ContainerState 3:lastState:ContainerState 4:ready:b 5:restartCount:i 6:image:s 7:imageID:s 8:containerID:s 9:started:b? 10:allocatedResources:{}quantity 11:resources:ResourceRequirements 12:volumeMounts:[]VolumeMountStatus 13:user:ContainerUser 14:allocatedResourcesStatus:[]ResourceStatus 15:stopSignal:s?",
  PodResourceClaimStatus: "1:name:s 2:resourceClaimName:s?",
  ContainerExtendedResourceRequest: "1:containerName:s 2:resourceName:s 3:requestName:s",
  PodExtendedResourceClaimStatus: "1:requestMappings:[]ContainerExtendedResourceRequest 2:resourceClaimName:s",
  NodeAllocatableMappedResources: "1:name:s 2:quantity:quantity",
  NodeAllocatableOverheadResources: "1:name:s 2:perPod:quantity 3:perContainer:quantity",
  NodeAllocatableResourceClaimStatus:
    "1:resourceClaimName:s 2:containers:[]s 4:mapping:[]NodeAllocatableMappedResources 5:overhead:[]NodeAllocatableOverheadResources",
  VolumeHealthCondition: "1:status:s 2:reason:s 3:message:s",
  PodVolumeHealth: "1:name:s 2:healthConditions:[]VolumeHealthCondition 3:lastTransitionTime:time",
  PodStatus:
    "1:phase:s 2:conditions:[]PodCondition 3:message:s 4:reason:s 5:hostIP:s 6:podIP:s 7:startTime:time 8:containerStatuses:[]ContainerStatus 9:qosClass:s 10:initContainerStatuses:[]ContainerStatus 11:nominatedNodeName:s 12:podIPs:[]PodIP 13:ephemeralContainerStatuses:[]ContainerStatus 14:resize:s 15:resourceClaimStatuses:[]PodResourceClaimStatus 16:hostIPs:[]HostIP 17:observedGeneration:i 18:extendedResourceClaimStatus:PodExtendedResourceClaimStatus 19:allocatedResources:{}quantity 20:resources:ResourceRequirements 21:nodeAllocatableResourceClaimStatuses:[]NodeAllocatableResourceClaimStatus 22:volumeHealth:[]PodVolumeHealth",
  Pod: "1:metadata:meta 2:spec:PodSpec 3:status:PodStatus",
  PodTemplateSpec: "1:metadata:meta 2:spec:PodSpec",
  PodTemplate: "1:metadata:meta 2:template:PodTemplateSpec",
  ReplicationControllerSpec: "1:replicas:i? 2:selector:{}s 3:template:PodTemplateSpec 4:minReadySeconds:i",
  ReplicationControllerStatus:
    "1:replicas:i 2:fullyLabeledReplicas:i 3:observedGeneration:i 4:readyReplicas:i 5:availableReplicas:i 6:conditions:[]ReplicaSetCondition",
  ReplicationController: "1:metadata:meta 2:spec:ReplicationControllerSpec 3:status:ReplicationControllerStatus",
  VolumeResourceRequirements: "1:limits:{}quantity 2:requests:{}quantity",
  TypedLocalObjectReference: "1:apiGroup:s? 2:kind:s 3:name:s",
  TypedObjectReference: "1:apiGroup:s? 2:kind:s 3:name:s 4:namespace:s?",
  PersistentVolumeClaimSpec:
    "1:accessModes:[]s 2:resources:VolumeResourceRequirements 3:volumeName:s 4:selector:selector 5:storageClassName:s? 6:volumeMode:s? 7:dataSource:TypedLocalObjectReference 8:dataSourceRef:TypedObjectReference 9:volumeAttributesClassName:s?",
  PersistentVolumeClaimCondition:
    "1:type:s 2:status:s 3:lastProbeTime:time 4:lastTransitionTime:time 5:reason:s 6:message:s",
  ModifyVolumeStatus: "1:targetVolumeAttributesClassName:s 2:status:s",
  VolumeHealthStatus: "1:healthConditions:[]VolumeHealthCondition 2:lastTransitionTime:time",
  PersistentVolumeClaimStatus:
    "1:phase:s 2:accessModes:[]s 3:capacity:{}quantity 4:conditions:[]PersistentVolumeClaimCondition 5:allocatedResources:{}quantity 7:allocatedResourceStatuses:{}s 8:currentVolumeAttributesClassName:s? 9:modifyVolumeStatus:ModifyVolumeStatus 10:healthStatus:VolumeHealthStatus",
  PersistentVolumeClaim: "1:metadata:meta 2:spec:PersistentVolumeClaimSpec 3:status:PersistentVolumeClaimStatus",
  GlusterfsPersistentVolumeSource: "1:endpoints:s 2:path:s 3:readOnly:b 4:endpointsNamespace:s?",
  SecretReference: "1:name:s 2:namespace:s",
  RBDPersistentVolumeSource:
    "1:monitors:[]s 2:image:s 3:fsType:s 4:pool:s 5:user:s 6:keyring:s 7:secretRef:SecretReference 8:readOnly:b",
  ISCSIPersistentVolumeSource:
    "1:targetPortal:s 2:iqn:s 3:lun:i 4:iscsiInterface:s 5:fsType:s 6:readOnly:b 7:portals:[]s 8:chapAuthDiscovery:b 10:secretRef:SecretReference 11:chapAuthSession:b 12:initiatorName:s?",
  CinderPersistentVolumeSource: "1:volumeID:s 2:fsType:s 3:readOnly:b 4:secretRef:SecretReference",
  CephFSPersistentVolumeSource:
    "1:monitors:[]s 2:path:s 3:user:s 4:secretFile:s 5:secretRef:SecretReference 6:readOnly:b",
  FlexPersistentVolumeSource: "1:driver:s 2:fsType:s 3:secretRef:SecretReference 4:readOnly:b 5:options:{}s",
  AzureFilePersistentVolumeSource: "1:secretName:s 2:shareName:s 3:readOnly:b 4:secretNamespace:s?",
  ScaleIOPersistentVolumeSource:
    "1:gateway:s 2:system:s 3:secretRef:SecretReference 4:sslEnabled:b 5:protectionDomain:s 6:storagePool:s 7:storageMode:s 8:volumeName:s 9:fsType:s 10:readOnly:b",
  LocalVolumeSource: "1:path:s 2:fsType:s?",
  StorageOSPersistentVolumeSource:
    "1:volumeName:s 2:volumeNamespace:s 3:fsType:s 4:readOnly:b 5:secretRef:ObjectReference",
  CSIPersistentVolumeSource:
    "1:driver:s 2:volumeHandle:s 3:readOnly:b 4:fsType:s 5:volumeAttributes:{}s 6:controllerPublishSecretRef:SecretReference 7:nodeStageSecretRef:SecretReference 8:nodePublishSecretRef:SecretReference 9:controllerExpandSecretRef:SecretReference 10:nodeExpandSecretRef:SecretReference",
  PersistentVolumeSource:
    "1:gcePersistentDisk:GCEPersistentDiskVolumeSource 2:awsElasticBlockStore:AWSElasticBlockStoreVolumeSource 3:hostPath:HostPathVolumeSource 4:glusterfs:GlusterfsPersistentVolumeSource 5:nfs:NFSVolumeSource 6:rbd:RBDPersistentVolumeSource 7:iscsi:ISCSIPersistentVolumeSource 8:cinder:CinderPersistentVolumeSource 9:cephfs:CephFSPersistentVolumeSource 10:fc:FCVolumeSource 11:flocker:FlockerVolumeSource 12:flexVolume:FlexPersistentVolumeSource 13:azureFile:AzureFilePersistentVolumeSource 14:vsphereVolume:VsphereVirtualDiskVolumeSource 15:quobyte:QuobyteVolumeSource 16:azureDisk:AzureDiskVolumeSource 17:photonPersistentDisk:PhotonPersistentDiskVolumeSource 18:portworxVolume:PortworxVolumeSource 19:scaleIO:ScaleIOPersistentVolumeSource 20:local:LocalVolumeSource 21:storageos:StorageOSPersistentVolumeSource 22:csi:CSIPersistentVolumeSource",
  VolumeNodeAffinity: "1:required:NodeSelector",
  PersistentVolumeSpec:
    "1:capacity:{}quantity 2::PersistentVolumeSource 3:accessModes:[]s 4:claimRef:ObjectReference 5:persistentVolumeReclaimPolicy:s 6:storageClassName:s 7:mountOptions:[]s 8:volumeMode:s? 9:nodeAffinity:VolumeNodeAffinity 10:volumeAttributesClassName:s?",
  PersistentVolumeStatus: "1:phase:s 2:message:s 3:reason:s 4:lastPhaseTransitionTime:time",
  PersistentVolume: "1:metadata:meta 2:spec:PersistentVolumeSpec 3:status:PersistentVolumeStatus",
  RollingUpdateDeployment: "1:maxUnavailable:intOrString 2:maxSurge:intOrString",
  DeploymentStrategy: "1:type:s 2:rollingUpdate:RollingUpdateDeployment",
  DeploymentSpec:
    "1:replicas:i? 2:selector:selector 3:template:PodTemplateSpec 4:strategy:DeploymentStrategy 5:minReadySeconds:i 6:revisionHistoryLimit:i? 7:paused:b 9:progressDeadlineSeconds:i?",
  DeploymentCondition: "1:type:s 2:status:s 4:reason:s 5:message:s 6:lastUpdateTime:time 7:lastTransitionTime:time",
  DeploymentStatus:
    "1:observedGeneration:i 2:replicas:i 3:updatedReplicas:i 4:availableReplicas:i 5:unavailableReplicas:i 6:conditions:[]DeploymentCondition 7:readyReplicas:i 8:collisionCount:i? 9:terminatingReplicas:i?",
  Deployment: "1:metadata:meta 2:spec:DeploymentSpec 3:status:DeploymentStatus",
  ReplicaSetSpec: "1:replicas:i? 2:selector:selector 3:template:PodTemplateSpec 4:minReadySeconds:i",
  ReplicaSetCondition: "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s",
  ReplicaSetStatus:
    "1:replicas:i 2:fullyLabeledReplicas:i 3:observedGeneration:i 4:readyReplicas:i 5:availableReplicas:i 6:conditions:[]ReplicaSetCondition 7:terminatingReplicas:i?",
  ReplicaSet: "1:metadata:meta 2:spec:ReplicaSetSpec 3:status:ReplicaSetStatus",
  RollingUpdateStatefulSetStrategy: "1:partition:i? 2:maxUnavailable:intOrString",
  StatefulSetUpdateStrategy: "1:type:s 2:rollingUpdate:RollingUpdateStatefulSetStrategy",
  StatefulSetPersistentVolumeClaimRetentionPolicy: "1:whenDeleted:s 2:whenScaled:s",
  StatefulSetOrdinals: "1:start:i",
  StatefulSetSpec:
    "1:replicas:i? 2:selector:selector 3:template:PodTemplateSpec 4:volumeClaimTemplates:[]PersistentVolumeClaim 5:serviceName:s 6:podManagementPolicy:s 7:updateStrategy:StatefulSetUpdateStrategy 8:revisionHistoryLimit:i? 9:minReadySeconds:i 10:persistentVolumeClaimRetentionPolicy:StatefulSetPersistentVolumeClaimRetentionPolicy 11:ordinals:StatefulSetOrdinals",
  StatefulSetCondition: "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s",
  StatefulSetStatus:
    "1:observedGeneration:i 2:replicas:i 3:readyReplicas:i 4:currentReplicas:i 5:updatedReplicas:i 6:currentRevision:s 7:updateRevision:s 9:collisionCount:i? 10:conditions:[]StatefulSetCondition 11:availableReplicas:i",
  StatefulSet: "1:metadata:meta 2:spec:StatefulSetSpec 3:status:StatefulSetStatus",
  RollingUpdateDaemonSet: "1:maxUnavailable:intOrString 2:maxSurge:intOrString",
  DaemonSetUpdateStrategy: "1:type:s 2:rollingUpdate:RollingUpdateDaemonSet",
  DaemonSetSpec:
    "1:selector:selector 2:template:PodTemplateSpec 3:updateStrategy:DaemonSetUpdateStrategy 4:minReadySeconds:i 6:revisionHistoryLimit:i?",
  DaemonSetCondition: "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s",
  DaemonSetStatus:
    "1:currentNumberScheduled:i 2:numberMisscheduled:i 3:desiredNumberScheduled:i 4:numberReady:i 5:observedGeneration:i 6:updatedNumberScheduled:i 7:numberAvailable:i 8:numberUnavailable:i 9:collisionCount:i? 10:conditions:[]DaemonSetCondition",
  DaemonSet: "1:metadata:meta 2:spec:DaemonSetSpec 3:status:DaemonSetStatus",
  ControllerRevision: "1:metadata:meta 2:data:raw 3:revision:i",
  PodFailurePolicyOnExitCodesRequirement: "1:containerName:s? 2:operator:s 3:values:[]i",
  PodFailurePolicyOnPodConditionsPattern: "1:type:s 2:status:s",
  PodFailurePolicyRule:
    "1:action:s 2:onExitCodes:PodFailurePolicyOnExitCodesRequirement 3:onPodConditions:[]PodFailurePolicyOnPodConditionsPattern",
  PodFailurePolicy: "1:rules:[]PodFailurePolicyRule",
  SuccessPolicyRule: "1:succeededIndexes:s? 2:succeededCount:i?",
  SuccessPolicy: "1:rules:[]SuccessPolicyRule",
  JobSchedulingConfiguration: "",
  JobSpec:
    "1:parallelism:i? 2:completions:i? 3:activeDeadlineSeconds:i? 4:selector:selector 5:manualSelector:b? 6:template:PodTemplateSpec 7:backoffLimit:i? 8:ttlSecondsAfterFinished:i? 9:completionMode:s? 10:suspend:b? 11:podFailurePolicy:PodFailurePolicy 12:backoffLimitPerIndex:i? 13:maxFailedIndexes:i? 14:podReplacementPolicy:s? 15:managedBy:s? 16:successPolicy:SuccessPolicy 17:scheduling:JobSchedulingConfiguration",
  JobCondition: "1:type:s 2:status:s 3:lastProbeTime:time 4:lastTransitionTime:time 5:reason:s 6:message:s",
  UncountedTerminatedPods: "1:succeeded:[]s 2:failed:[]s",
  JobStatus:
    "1:conditions:[]JobCondition 2:startTime:time 3:completionTime:time 4:active:i 5:succeeded:i 6:failed:i 7:completedIndexes:s 8:uncountedTerminatedPods:UncountedTerminatedPods 9:ready:i? 10:failedIndexes:s? 11:terminating:i?",
  Job: "1:metadata:meta 2:spec:JobSpec 3:status:JobStatus",
  JobTemplateSpec: "1:metadata:meta 2:spec:JobSpec",
  CronJobSpec:
    "1:schedule:s 2:startingDeadlineSeconds:i? 3:concurrencyPolicy:s 4:suspend:b? 5:jobTemplate:JobTemplateSpec 6:successfulJobsHistoryLimit:i? 7:failedJobsHistoryLimit:i? 8:timeZone:s?",
  CronJobStatus: "1:active:[]ObjectReference 4:lastScheduleTime:time 5:lastSuccessfulTime:time",
  CronJob: "1:metadata:meta 2:spec:CronJobSpec 3:status:CronJobStatus",
  ServiceBackendPort: "1:name:s 2:number:i",
  IngressServiceBackend: "1:name:s 2:port:ServiceBackendPort",
  IngressBackend: "3:resource:TypedLocalObjectReference 4:service:IngressServiceBackend",
  IngressTLS: "1:hosts:[]s 2:secretName:s",
  HTTPIngressPath: "1:path:s 2:backend:IngressBackend 3:pathType:s?",
  HTTPIngressRuleValue: "1:paths:[]HTTPIngressPath",
  IngressRuleValue: "1:http:HTTPIngressRuleValue",
  IngressRule: "1:host:s 2::IngressRuleValue",
  IngressSpec: "1:defaultBackend:IngressBackend 2:tls:[]IngressTLS 3:rules:[]IngressRule 4:ingressClassName:s?",
  IngressPortStatus: "1:port:i 2:protocol:s 3:error:s?",
  IngressLoadBalancerIngress: "1:ip:s 2:hostname:s 4:ports:[]IngressPortStatus",
  IngressLoadBalancerStatus: "1:ingress:[]IngressLoadBalancerIngress",
  IngressStatus: "1:loadBalancer:IngressLoadBalancerStatus",
  Ingress: "1:metadata:meta 2:spec:IngressSpec 3:status:IngressStatus",
  IngressClassParametersReference: "1:apiGroup:s? 2:kind:s 3:name:s 4:scope:s? 5:namespace:s?",
  IngressClassSpec: "1:controller:s 2:parameters:IngressClassParametersReference",
  IngressClass: "1:metadata:meta 2:spec:IngressClassSpec",
  NetworkPolicyPort: "1:protocol:s? 2:port:intOrString 3:endPort:i?",
  IPBlock: "1:cidr:s 2:except:[]s",
  NetworkPolicyPeer: "1:podSelector:selector 2:namespaceSelector:selector 3:ipBlock:IPBlock",
  NetworkPolicyIngressRule: "1:ports:[]NetworkPolicyPort 2:from:[]NetworkPolicyPeer",
  NetworkPolicyEgressRule: "1:ports:[]NetworkPolicyPort 2:to:[]NetworkPolicyPeer",
  NetworkPolicySpec:
    "1:podSelector:selector 2:ingress:[]NetworkPolicyIngressRule 3:egress:[]NetworkPolicyEgressRule 4:policyTypes:[]s",
  NetworkPolicy: "1:metadata:meta 2:spec:NetworkPolicySpec",
  PodDisruptionBudgetSpec:
    "1:minAvailable:intOrString 2:selector:selector 3:maxUnavailable:intOrString 4:unhealthyPodEvictionPolicy:s?",
  PodDisruptionBudgetStatus:
    "1:observedGeneration:i 2:disruptedPods:{}time 3:disruptionsAllowed:i 4:currentHealthy:i 5:desiredHealthy:i 6:expectedPods:i 7:conditions:[]condition",
  PodDisruptionBudget: "1:metadata:meta 2:spec:PodDisruptionBudgetSpec 3:status:PodDisruptionBudgetStatus",
  PriorityClass: "1:metadata:meta 2:value:i 3:globalDefault:b 4:description:s 5:preemptionPolicy:s",
  TopologySelectorLabelRequirement: "1:key:s 2:values:[]s",
  TopologySelectorTerm: "1:matchLabelExpressions:[]TopologySelectorLabelRequirement",
  StorageClass:
    "1:metadata:meta 2:provisioner:s 3:parameters:{}s 4:reclaimPolicy:s? 5:mountOptions:[]s 6:allowVolumeExpansion:b? 7:volumeBindingMode:s? 8:allowedTopologies:[]TopologySelectorTerm",
  TokenRequest: "1:audience:s 2:expirationSeconds:i?",
  CSIDriverSpec:
    "1:attachRequired:b? 2:podInfoOnMount:b? 3:volumeLifecycleModes:[]s 4:storageCapacity:b? 5:fsGroupPolicy:s? 6:tokenRequests:[]TokenRequest 7:requiresRepublish:b? 8:seLinuxMount:b? 9:nodeAllocatableUpdatePeriodSeconds:i? 10:serviceAccountTokenInSecrets:b?",
  CSIDriver: "1:metadata:meta 2:spec:CSIDriverSpec",
  RuntimeClassOverhead: "1:podFixed:{}quantity",
  RuntimeClassScheduling: "1:nodeSelector:{}s 2:tolerations:[]Toleration",
  RuntimeClass: "1:metadata:meta 2:handler:s 3:overhead:RuntimeClassOverhead 4:scheduling:RuntimeClassScheduling",
  APIServiceReference: "1:namespace:s 2:name:s 3:port:i?",
  APIServiceSpec:
    "1:service:APIServiceReference 2:group:s 3:version:s 4:insecureSkipTLSVerify:b 5:caBundle:bytes 7:groupPriorityMinimum:i 8:versionPriority:i",
  APIServiceCondition: "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s",
  APIServiceStatus: "1:conditions:[]APIServiceCondition",
  APIService: "1:metadata:meta 2:spec:APIServiceSpec 3:status:APIServiceStatus",
  EndpointConditions: "1:ready:b? 2:serving:b? 3:terminating:b?",
  ForZone: "1:name:s",
  ForNode: "1:name:s",
  EndpointHints: "1:forZones:[]ForZone 2:forNodes:[]ForNode",
  Endpoint:
    "1:addresses:[]s 2:conditions:EndpointConditions 3:hostname:s? 4:targetRef:ObjectReference 5:deprecatedTopology:{}s 6:nodeName:s? 7:zone:s? 8:hints:EndpointHints",
  EndpointPortDiscovery: "1:name:s? 2:protocol:s? 3:port:i? 4:appProtocol:s?",
  EndpointSlice: "1:metadata:meta 2:endpoints:[]Endpoint 3:ports:[]EndpointPortDiscovery 4:addressType:s",
  CrossVersionObjectReference: "1:kind:s 2:name:s 3:apiVersion:s",
  MetricIdentifier: "1:name:s 2:selector:selector",
  MetricTarget: "1:type:s 2:value:quantity 3:averageValue:quantity 4:averageUtilization:i?",
  ObjectMetricSource: "1:describedObject:CrossVersionObjectReference 2:target:MetricTarget 3:metric:MetricIdentifier",
  PodsMetricSource: "1:metric:MetricIdentifier 2:target:MetricTarget",
  ResourceMetricSource: "1:name:s 2:target:MetricTarget",
  ContainerResourceMetricSource: "1:name:s 2:target:MetricTarget 3:container:s",
  ExternalMetricSource: "1:metric:MetricIdentifier 2:target:MetricTarget",
  MetricSpec:
    "1:type:s 2:object:ObjectMetricSource 3:pods:PodsMetricSource 4:resource:ResourceMetricSource 5:external:ExternalMetricSource 7:containerResource:ContainerResourceMetricSource",
  HPAScalingPolicy: "1:type:s 2:value:i 3:periodSeconds:i",
  HPAScalingRules:
    "1:selectPolicy:s? 2:policies:[]HPAScalingPolicy 3:stabilizationWindowSeconds:i? 4:tolerance:quantity",
  HorizontalPodAutoscalerBehavior: "1:scaleUp:HPAScalingRules 2:scaleDown:HPAScalingRules",
  HorizontalPodAutoscalerSpec:
    "1:scaleTargetRef:CrossVersionObjectReference 2:minReplicas:i? 3:maxReplicas:i 4:metrics:[]MetricSpec 5:behavior:HorizontalPodAutoscalerBehavior",
  MetricValueStatus: "1:value:quantity 2:averageValue:quantity 3:averageUtilization:i?",
  ObjectMetricStatus:
    "1:metric:MetricIdentifier 2:current:MetricValueStatus 3:describedObject:CrossVersionObjectReference",
  PodsMetricStatus: "1:metric:MetricIdentifier 2:current:MetricValueStatus",
  ResourceMetricStatus: "1:name:s 2:current:MetricValueStatus",
  ContainerResourceMetricStatus: "1:name:s 2:current:MetricValueStatus 3:container:s",
  ExternalMetricStatus: "1:metric:MetricIdentifier 2:current:MetricValueStatus",
  MetricStatus:
    "1:type:s 2:object:ObjectMetricStatus 3:pods:PodsMetricStatus 4:resource:ResourceMetricStatus 5:external:ExternalMetricStatus 7:containerResource:ContainerResourceMetricStatus",
  HorizontalPodAutoscalerCondition:
    "1:type:s 2:status:s 3:lastTransitionTime:time 4:reason:s 5:message:s 6:observedGeneration:i?",
  HorizontalPodAutoscalerStatus:
    "1:observedGeneration:i? 2:lastScaleTime:time 3:currentReplicas:i 4:desiredReplicas:i 5:currentMetrics:[]MetricStatus 6:conditions:[]HorizontalPodAutoscalerCondition",
  HorizontalPodAutoscaler: "1:metadata:meta 2:spec:HorizontalPodAutoscalerSpec 3:status:HorizontalPodAutoscalerStatus",
  HorizontalPodAutoscalerSpecV1:
    "1:scaleTargetRef:CrossVersionObjectReference 2:minReplicas:i? 3:maxReplicas:i 4:targetCPUUtilizationPercentage:i?",
  HorizontalPodAutoscalerStatusV1:
    "1:observedGeneration:i? 2:lastScaleTime:time 3:currentReplicas:i 4:desiredReplicas:i 5:currentCPUUtilizationPercentage:i?",
  HorizontalPodAutoscalerV1:
    "1:metadata:meta 2:spec:HorizontalPodAutoscalerSpecV1 3:status:HorizontalPodAutoscalerStatusV1",
  LeaseSpec:
    "1:holderIdentity:s? 2:leaseDurationSeconds:i? 3:acquireTime:microtime 4:renewTime:microtime 5:leaseTransitions:i? 6:strategy:s? 7:preferredHolder:s?",
  Lease: "1:metadata:meta 2:spec:LeaseSpec",
  ...EXTENSION_MESSAGES,
};
