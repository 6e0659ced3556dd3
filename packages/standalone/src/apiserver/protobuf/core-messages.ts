/**
 * The wire format of core/v1 in protobuf (k8s.io/api, generated.proto): per message its fields as `number name type`. A `?` after the name:
 * left out of JSON when it has its zero value. `~`: the fields of the message are the parent's own. Types are scalars,
 * messages, `[]` lists and `{}` maps with text keys.
 */
export const CORE_MESSAGES: Readonly<Record<string, string>> = {
  "core.AWSElasticBlockStoreVolumeSource":
    "1 volumeID string,2 fsType? string,3 partition? int,4 readOnly? bool",
  "core.Affinity":
    "1 nodeAffinity core.NodeAffinity,2 podAffinity core.PodAffinity,3 podAntiAffinity core.PodAntiAffinity",
  "core.AppArmorProfile": "1 type string,2 localhostProfile string",
  "core.AttachedVolume": "1 name string,2 devicePath string",
  "core.AzureDiskVolumeSource":
    "1 diskName string,2 diskURI string,3 cachingMode string,4 fsType string,5 readOnly bool,6 kind string",
  "core.AzureFilePersistentVolumeSource":
    "1 secretName string,2 shareName string,3 readOnly? bool,4 secretNamespace string",
  "core.AzureFileVolumeSource": "1 secretName string,2 shareName string,3 readOnly? bool",
  "core.Binding": "1 metadata? meta.ObjectMeta,2 target core.ObjectReference",
  "core.CSIPersistentVolumeSource":
    "1 driver string,2 volumeHandle string,3 readOnly? bool,4 fsType? string,5 volumeAttributes? {}string,6 controllerPublishSecretRef core.SecretReference,7 nodeStageSecretRef core.SecretReference,8 nodePublishSecretRef core.SecretReference,9 controllerExpandSecretRef core.SecretReference,10 nodeExpandSecretRef core.SecretReference",
  "core.CSIVolumeSource":
    "1 driver string,2 readOnly bool,3 fsType string,4 volumeAttributes? {}string,5 nodePublishSecretRef core.LocalObjectReference",
  "core.Capabilities": "1 add? []string,2 drop? []string",
  "core.CephFSPersistentVolumeSource":
    "1 monitors []string,2 path? string,3 user? string,4 secretFile? string,5 secretRef core.SecretReference,6 readOnly? bool",
  "core.CephFSVolumeSource":
    "1 monitors []string,2 path? string,3 user? string,4 secretFile? string,5 secretRef core.LocalObjectReference,6 readOnly? bool",
  "core.CinderPersistentVolumeSource":
    "1 volumeID string,2 fsType? string,3 readOnly? bool,4 secretRef core.SecretReference",
  "core.CinderVolumeSource":
    "1 volumeID string,2 fsType? string,3 readOnly? bool,4 secretRef core.LocalObjectReference",
  "core.ClientIPConfig": "1 timeoutSeconds int",
  "core.ClusterTrustBundleProjection":
    "1 name string,2 signerName string,3 labelSelector meta.LabelSelector,5 optional bool,4 path string",
  "core.ConfigMap": "1 metadata? meta.ObjectMeta,4 immutable bool,2 data? {}string,3 binaryData? {}bytes",
  "core.ConfigMapEnvSource": "1 ~ core.LocalObjectReference,2 optional bool",
  "core.ConfigMapKeySelector": "1 ~ core.LocalObjectReference,2 key string,3 optional bool",
  "core.ConfigMapNodeConfigSource":
    "1 namespace string,2 name string,3 uid? string,4 resourceVersion? string,5 kubeletConfigKey string",
  "core.ConfigMapProjection": "1 ~ core.LocalObjectReference,2 items? []core.KeyToPath,4 optional bool",
  "core.ConfigMapVolumeSource":
    "1 ~ core.LocalObjectReference,2 items? []core.KeyToPath,3 defaultMode int,4 optional bool",
  "core.Container":
    "1 name string,2 image? string,3 command? []string,4 args? []string,5 workingDir? string,6 ports? []core.ContainerPort,19 envFrom? []core.EnvFromSource,7 env? []core.EnvVar,8 resources? core.ResourceRequirements,23 resizePolicy? []core.ContainerResizePolicy,24 restartPolicy string,25 restartPolicyRules? []core.ContainerRestartRule,9 volumeMounts? []core.VolumeMount,21 volumeDevices? []core.VolumeDevice,10 livenessProbe core.Probe,11 readinessProbe core.Probe,22 startupProbe core.Probe,12 lifecycle core.Lifecycle,13 terminationMessagePath? string,20 terminationMessagePolicy? string,14 imagePullPolicy? string,15 securityContext core.SecurityContext,16 stdin? bool,17 stdinOnce? bool,18 tty? bool",
  "core.ContainerExtendedResourceRequest":
    "1 containerName string,2 resourceName string,3 requestName string",
  "core.ContainerImage": "1 names []string,2 sizeBytes? int",
  "core.ContainerPort":
    "1 name? string,2 hostPort? int,3 containerPort int,4 protocol? string,5 hostIP? string",
  "core.ContainerResizePolicy": "1 resourceName string,2 restartPolicy string",
  "core.ContainerRestartRule": "1 action? string,2 exitCodes core.ContainerRestartRuleOnExitCodes",
  "core.ContainerRestartRuleOnExitCodes": "1 operator? string,2 values? []int",
  "core.ContainerState":
    "1 waiting core.ContainerStateWaiting,2 running core.ContainerStateRunning,3 terminated core.ContainerStateTerminated",
  "core.ContainerStateRunning": "1 startedAt? time",
  "core.ContainerStateTerminated":
    "1 exitCode int,2 signal? int,3 reason? string,4 message? string,5 startedAt? time,6 finishedAt? time,7 containerID? string",
  "core.ContainerStateWaiting": "1 reason? string,2 message? string",
  "core.ContainerStatus":
    "1 name string,2 state? core.ContainerState,3 lastState? core.ContainerState,4 ready bool,5 restartCount int,6 image string,7 imageID string,8 containerID? string,9 started bool,10 allocatedResources? {}quantity,11 resources core.ResourceRequirements,12 volumeMounts? []core.VolumeMountStatus,13 user core.ContainerUser,14 allocatedResourcesStatus? []core.ResourceStatus,15 stopSignal string",
  "core.ContainerUser": "1 linux core.LinuxContainerUser",
  "core.DaemonEndpoint": "1 Port int",
  "core.DownwardAPIProjection": "1 items? []core.DownwardAPIVolumeFile",
  "core.DownwardAPIVolumeFile":
    "1 path string,2 fieldRef core.ObjectFieldSelector,3 resourceFieldRef core.ResourceFieldSelector,4 mode int",
  "core.DownwardAPIVolumeSource": "1 items? []core.DownwardAPIVolumeFile,2 defaultMode int",
  "core.EmptyDirVolumeSource": "1 medium? string,2 sizeLimit quantity",
  "core.EnvFromSource":
    "1 prefix? string,2 configMapRef core.ConfigMapEnvSource,3 secretRef core.SecretEnvSource",
  "core.EnvVar": "1 name string,2 value? string,3 valueFrom core.EnvVarSource",
  "core.EnvVarSource":
    "1 fieldRef core.ObjectFieldSelector,2 resourceFieldRef core.ResourceFieldSelector,3 configMapKeyRef core.ConfigMapKeySelector,4 secretKeyRef core.SecretKeySelector,5 fileKeyRef core.FileKeySelector",
  "core.EphemeralContainer": "1 ~ core.EphemeralContainerCommon,2 targetContainerName? string",
  "core.EphemeralContainerCommon":
    "1 name string,2 image? string,3 command? []string,4 args? []string,5 workingDir? string,6 ports? []core.ContainerPort,19 envFrom? []core.EnvFromSource,7 env? []core.EnvVar,8 resources? core.ResourceRequirements,23 resizePolicy? []core.ContainerResizePolicy,24 restartPolicy string,25 restartPolicyRules? []core.ContainerRestartRule,9 volumeMounts? []core.VolumeMount,21 volumeDevices? []core.VolumeDevice,10 livenessProbe core.Probe,11 readinessProbe core.Probe,22 startupProbe core.Probe,12 lifecycle core.Lifecycle,13 terminationMessagePath? string,20 terminationMessagePolicy? string,14 imagePullPolicy? string,15 securityContext core.SecurityContext,16 stdin? bool,17 stdinOnce? bool,18 tty? bool",
  "core.EphemeralVolumeSource": "1 volumeClaimTemplate core.PersistentVolumeClaimTemplate",
  "core.Event":
    "1 metadata meta.ObjectMeta,2 involvedObject core.ObjectReference,3 reason? string,4 message? string,5 source? core.EventSource,6 firstTimestamp? time,7 lastTimestamp? time,8 count? int,9 type? string,10 eventTime? microtime,11 series core.EventSeries,12 action? string,13 related core.ObjectReference,14 reportingComponent string,15 reportingInstance string",
  "core.EventSeries": "1 count? int,2 lastObservedTime? microtime",
  "core.EventSource": "1 component? string,2 host? string",
  "core.ExecAction": "1 command? []string",
  "core.FCVolumeSource":
    "1 targetWWNs? []string,2 lun int,3 fsType? string,4 readOnly? bool,5 wwids? []string",
  "core.FileKeySelector": "1 volumeName string,2 path string,3 key string,4 optional bool",
  "core.FlexPersistentVolumeSource":
    "1 driver string,2 fsType? string,3 secretRef core.SecretReference,4 readOnly? bool,5 options? {}string",
  "core.FlexVolumeSource":
    "1 driver string,2 fsType? string,3 secretRef core.LocalObjectReference,4 readOnly? bool,5 options? {}string",
  "core.FlockerVolumeSource": "1 datasetName? string,2 datasetUUID? string",
  "core.GCEPersistentDiskVolumeSource": "1 pdName string,2 fsType? string,3 partition? int,4 readOnly? bool",
  "core.GRPCAction": "1 port int,2 service string",
  "core.GitRepoVolumeSource": "1 repository string,2 revision? string,3 directory? string",
  "core.GlusterfsPersistentVolumeSource":
    "1 endpoints string,2 path string,3 readOnly? bool,4 endpointsNamespace string",
  "core.GlusterfsVolumeSource": "1 endpoints string,2 path string,3 readOnly? bool",
  "core.HTTPGetAction":
    "1 path? string,2 port intorstring,3 host? string,4 scheme? string,5 httpHeaders? []core.HTTPHeader",
  "core.HTTPHeader": "1 name string,2 value string",
  "core.HostAlias": "1 ip string,2 hostnames? []string",
  "core.HostIP": "1 ip string",
  "core.HostPathVolumeSource": "1 path string,2 type string",
  "core.ISCSIPersistentVolumeSource":
    "1 targetPortal string,2 iqn string,3 lun int,4 iscsiInterface? string,5 fsType? string,6 readOnly? bool,7 portals? []string,8 chapAuthDiscovery? bool,11 chapAuthSession? bool,10 secretRef core.SecretReference,12 initiatorName string",
  "core.ISCSIVolumeSource":
    "1 targetPortal string,2 iqn string,3 lun int,4 iscsiInterface? string,5 fsType? string,6 readOnly? bool,7 portals? []string,8 chapAuthDiscovery? bool,11 chapAuthSession? bool,10 secretRef core.LocalObjectReference,12 initiatorName string",
  "core.ImageVolumeSource": "1 reference? string,2 pullPolicy? string",
  "core.KeyToPath": "1 key string,2 path string,3 mode int",
  "core.Lifecycle": "1 postStart core.LifecycleHandler,2 preStop core.LifecycleHandler,3 stopSignal string",
  "core.LifecycleHandler":
    "1 exec core.ExecAction,2 httpGet core.HTTPGetAction,3 tcpSocket core.TCPSocketAction,4 sleep core.SleepAction",
  "core.LinuxContainerUser": "1 uid int,2 gid int,3 supplementalGroups? []int",
  "core.LoadBalancerIngress": "1 ip? string,2 hostname? string,3 ipMode string,4 ports? []core.PortStatus",
  "core.LoadBalancerStatus": "1 ingress? []core.LoadBalancerIngress",
  "core.LocalObjectReference": "1 name? string",
  "core.LocalVolumeSource": "1 path string,2 fsType string",
  "core.ModifyVolumeStatus": "1 targetVolumeAttributesClassName? string,2 status string",
  "core.NFSVolumeSource": "1 server string,2 path string,3 readOnly? bool",
  "core.Namespace": "1 metadata? meta.ObjectMeta,2 spec? core.NamespaceSpec,3 status? core.NamespaceStatus",
  "core.NamespaceCondition":
    "1 type string,2 status string,4 lastTransitionTime? time,5 reason? string,6 message? string",
  "core.NamespaceSpec": "1 finalizers? []string",
  "core.NamespaceStatus": "1 phase? string,2 conditions? []core.NamespaceCondition",
  "core.Node": "1 metadata? meta.ObjectMeta,2 spec? core.NodeSpec,3 status? core.NodeStatus",
  "core.NodeAddress": "1 type string,2 address string",
  "core.NodeAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution core.NodeSelector,2 preferredDuringSchedulingIgnoredDuringExecution? []core.PreferredSchedulingTerm",
  "core.NodeCondition":
    "1 type string,2 status string,3 lastHeartbeatTime? time,4 lastTransitionTime? time,5 reason? string,6 message? string",
  "core.NodeConfigSource": "2 configMap core.ConfigMapNodeConfigSource",
  "core.NodeConfigStatus":
    "1 assigned core.NodeConfigSource,2 active core.NodeConfigSource,3 lastKnownGood core.NodeConfigSource,4 error? string",
  "core.NodeDaemonEndpoints": "1 kubeletEndpoint? core.DaemonEndpoint",
  "core.NodeFeatures": "1 supplementalGroupsPolicy bool",
  "core.NodeRuntimeHandler": "1 name string,2 features core.NodeRuntimeHandlerFeatures",
  "core.NodeRuntimeHandlerFeatures": "1 recursiveReadOnlyMounts bool,2 userNamespaces bool",
  "core.NodeSelector": "1 nodeSelectorTerms []core.NodeSelectorTerm",
  "core.NodeSelectorRequirement": "1 key string,2 operator string,3 values? []string",
  "core.NodeSelectorTerm":
    "1 matchExpressions? []core.NodeSelectorRequirement,2 matchFields? []core.NodeSelectorRequirement",
  "core.NodeSpec":
    "1 podCIDR? string,7 podCIDRs? []string,3 providerID? string,4 unschedulable? bool,5 taints? []core.Taint,6 configSource core.NodeConfigSource,2 externalID? string",
  "core.NodeStatus":
    "1 capacity? {}quantity,2 allocatable? {}quantity,3 phase? string,4 conditions? []core.NodeCondition,5 addresses? []core.NodeAddress,6 daemonEndpoints? core.NodeDaemonEndpoints,7 nodeInfo? core.NodeSystemInfo,8 images? []core.ContainerImage,9 volumesInUse? []string,10 volumesAttached? []core.AttachedVolume,11 config core.NodeConfigStatus,12 runtimeHandlers? []core.NodeRuntimeHandler,13 features core.NodeFeatures,14 declaredFeatures? []string",
  "core.NodeSwapStatus": "1 capacity int",
  "core.NodeSystemInfo":
    "1 machineID string,2 systemUUID string,3 bootID string,4 kernelVersion string,5 osImage string,6 containerRuntimeVersion string,7 kubeletVersion string,8 kubeProxyVersion string,9 operatingSystem string,10 architecture string,11 swap core.NodeSwapStatus",
  "core.ObjectFieldSelector": "1 apiVersion? string,2 fieldPath string",
  "core.ObjectReference":
    "1 kind? string,2 namespace? string,3 name? string,4 uid? string,5 apiVersion? string,6 resourceVersion? string,7 fieldPath? string",
  "core.PersistentVolume":
    "1 metadata? meta.ObjectMeta,2 spec? core.PersistentVolumeSpec,3 status? core.PersistentVolumeStatus",
  "core.PersistentVolumeClaim":
    "1 metadata? meta.ObjectMeta,2 spec? core.PersistentVolumeClaimSpec,3 status? core.PersistentVolumeClaimStatus",
  "core.PersistentVolumeClaimCondition":
    "1 type string,2 status string,3 lastProbeTime? time,4 lastTransitionTime? time,5 reason? string,6 message? string",
  "core.PersistentVolumeClaimSpec":
    "1 accessModes? []string,4 selector meta.LabelSelector,2 resources? core.VolumeResourceRequirements,3 volumeName? string,5 storageClassName string,6 volumeMode string,7 dataSource core.TypedLocalObjectReference,8 dataSourceRef core.TypedObjectReference,9 volumeAttributesClassName string",
  "core.PersistentVolumeClaimStatus":
    "1 phase? string,2 accessModes? []string,3 capacity? {}quantity,4 conditions? []core.PersistentVolumeClaimCondition,5 allocatedResources? {}quantity,7 allocatedResourceStatuses? {}string,8 currentVolumeAttributesClassName string,9 modifyVolumeStatus core.ModifyVolumeStatus",
  "core.PersistentVolumeClaimTemplate": "1 metadata? meta.ObjectMeta,2 spec core.PersistentVolumeClaimSpec",
  "core.PersistentVolumeClaimVolumeSource": "1 claimName string,2 readOnly? bool",
  "core.PersistentVolumeSource":
    "1 gcePersistentDisk core.GCEPersistentDiskVolumeSource,2 awsElasticBlockStore core.AWSElasticBlockStoreVolumeSource,3 hostPath core.HostPathVolumeSource,4 glusterfs core.GlusterfsPersistentVolumeSource,5 nfs core.NFSVolumeSource,6 rbd core.RBDPersistentVolumeSource,7 iscsi core.ISCSIPersistentVolumeSource,8 cinder core.CinderPersistentVolumeSource,9 cephfs core.CephFSPersistentVolumeSource,10 fc core.FCVolumeSource,11 flocker core.FlockerVolumeSource,12 flexVolume core.FlexPersistentVolumeSource,13 azureFile core.AzureFilePersistentVolumeSource,14 vsphereVolume core.VsphereVirtualDiskVolumeSource,15 quobyte core.QuobyteVolumeSource,16 azureDisk core.AzureDiskVolumeSource,17 photonPersistentDisk core.PhotonPersistentDiskVolumeSource,18 portworxVolume core.PortworxVolumeSource,19 scaleIO core.ScaleIOPersistentVolumeSource,20 local core.LocalVolumeSource,21 storageos core.StorageOSPersistentVolumeSource,22 csi core.CSIPersistentVolumeSource",
  "core.PersistentVolumeSpec":
    "1 capacity? {}quantity,2 ~ core.PersistentVolumeSource,3 accessModes? []string,4 claimRef core.ObjectReference,5 persistentVolumeReclaimPolicy? string,6 storageClassName? string,7 mountOptions? []string,8 volumeMode string,9 nodeAffinity core.VolumeNodeAffinity,10 volumeAttributesClassName string",
  "core.PersistentVolumeStatus":
    "1 phase? string,2 message? string,3 reason? string,4 lastPhaseTransitionTime time",
  "core.PhotonPersistentDiskVolumeSource": "1 pdID string,2 fsType? string",
  "core.Pod": "1 metadata? meta.ObjectMeta,2 spec? core.PodSpec,3 status? core.PodStatus",
  "core.PodAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution? []core.PodAffinityTerm,2 preferredDuringSchedulingIgnoredDuringExecution? []core.WeightedPodAffinityTerm",
  "core.PodAffinityTerm":
    "1 labelSelector meta.LabelSelector,2 namespaces? []string,3 topologyKey string,4 namespaceSelector meta.LabelSelector,5 matchLabelKeys? []string,6 mismatchLabelKeys? []string",
  "core.PodAntiAffinity":
    "1 requiredDuringSchedulingIgnoredDuringExecution? []core.PodAffinityTerm,2 preferredDuringSchedulingIgnoredDuringExecution? []core.WeightedPodAffinityTerm",
  "core.PodCertificateProjection":
    "1 signerName? string,2 keyType? string,3 maxExpirationSeconds int,4 credentialBundlePath? string,5 keyPath? string,6 certificateChainPath? string",
  "core.PodCondition":
    "1 type string,7 observedGeneration? int,2 status string,3 lastProbeTime? time,4 lastTransitionTime? time,5 reason? string,6 message? string",
  "core.PodDNSConfig": "1 nameservers? []string,2 searches? []string,3 options? []core.PodDNSConfigOption",
  "core.PodDNSConfigOption": "1 name? string,2 value string",
  "core.PodExtendedResourceClaimStatus":
    "1 requestMappings []core.ContainerExtendedResourceRequest,2 resourceClaimName string",
  "core.PodIP": "1 ip string",
  "core.PodOS": "1 name string",
  "core.PodReadinessGate": "1 conditionType string",
  "core.PodResourceClaim": "1 name string,3 resourceClaimName string,4 resourceClaimTemplateName string",
  "core.PodResourceClaimStatus": "1 name string,2 resourceClaimName string",
  "core.PodSchedulingGate": "1 name string",
  "core.PodSecurityContext":
    "1 seLinuxOptions core.SELinuxOptions,8 windowsOptions core.WindowsSecurityContextOptions,2 runAsUser int,6 runAsGroup int,3 runAsNonRoot bool,4 supplementalGroups? []int,12 supplementalGroupsPolicy string,5 fsGroup int,7 sysctls? []core.Sysctl,9 fsGroupChangePolicy string,10 seccompProfile core.SeccompProfile,11 appArmorProfile core.AppArmorProfile,13 seLinuxChangePolicy string",
  "core.PodSpec":
    "1 volumes? []core.Volume,20 initContainers? []core.Container,2 containers []core.Container,34 ephemeralContainers? []core.EphemeralContainer,3 restartPolicy? string,4 terminationGracePeriodSeconds int,5 activeDeadlineSeconds int,6 dnsPolicy? string,7 nodeSelector? {}string,8 serviceAccountName? string,9 serviceAccount? string,21 automountServiceAccountToken bool,10 nodeName? string,11 hostNetwork? bool,12 hostPID? bool,13 hostIPC? bool,27 shareProcessNamespace bool,14 securityContext core.PodSecurityContext,15 imagePullSecrets? []core.LocalObjectReference,16 hostname? string,17 subdomain? string,18 affinity core.Affinity,19 schedulerName? string,22 tolerations? []core.Toleration,23 hostAliases? []core.HostAlias,24 priorityClassName? string,25 priority int,26 dnsConfig core.PodDNSConfig,28 readinessGates? []core.PodReadinessGate,29 runtimeClassName string,30 enableServiceLinks bool,31 preemptionPolicy string,32 overhead? {}quantity,33 topologySpreadConstraints? []core.TopologySpreadConstraint,35 setHostnameAsFQDN bool,36 os core.PodOS,37 hostUsers bool,38 schedulingGates? []core.PodSchedulingGate,39 resourceClaims? []core.PodResourceClaim,40 resources core.ResourceRequirements,41 hostnameOverride string",
  "core.PodStatus":
    "17 observedGeneration? int,1 phase? string,2 conditions? []core.PodCondition,3 message? string,4 reason? string,11 nominatedNodeName? string,5 hostIP? string,16 hostIPs? []core.HostIP,6 podIP? string,12 podIPs? []core.PodIP,7 startTime time,10 initContainerStatuses? []core.ContainerStatus,8 containerStatuses? []core.ContainerStatus,9 qosClass? string,13 ephemeralContainerStatuses? []core.ContainerStatus,14 resize? string,15 resourceClaimStatuses? []core.PodResourceClaimStatus,18 extendedResourceClaimStatus core.PodExtendedResourceClaimStatus",
  "core.PortStatus": "1 port int,2 protocol string,3 error string",
  "core.PortworxVolumeSource": "1 volumeID string,2 fsType? string,3 readOnly? bool",
  "core.PreferredSchedulingTerm": "1 weight int,2 preference core.NodeSelectorTerm",
  "core.Probe":
    "1 ~ core.ProbeHandler,2 initialDelaySeconds? int,3 timeoutSeconds? int,4 periodSeconds? int,5 successThreshold? int,6 failureThreshold? int,7 terminationGracePeriodSeconds int",
  "core.ProbeHandler":
    "1 exec core.ExecAction,2 httpGet core.HTTPGetAction,3 tcpSocket core.TCPSocketAction,4 grpc core.GRPCAction",
  "core.ProjectedVolumeSource": "1 sources []core.VolumeProjection,2 defaultMode int",
  "core.QuobyteVolumeSource":
    "1 registry string,2 volume string,3 readOnly? bool,4 user? string,5 group? string,6 tenant? string",
  "core.RBDPersistentVolumeSource":
    "1 monitors []string,2 image string,3 fsType? string,4 pool? string,5 user? string,6 keyring? string,7 secretRef core.SecretReference,8 readOnly? bool",
  "core.RBDVolumeSource":
    "1 monitors []string,2 image string,3 fsType? string,4 pool? string,5 user? string,6 keyring? string,7 secretRef core.LocalObjectReference,8 readOnly? bool",
  "core.ResourceClaim": "1 name string,2 request? string",
  "core.ResourceFieldSelector": "1 containerName? string,2 resource string,3 divisor? quantity",
  "core.ResourceHealth": "1 resourceID string,2 health? string",
  "core.ResourceRequirements": "1 limits? {}quantity,2 requests? {}quantity,3 claims? []core.ResourceClaim",
  "core.ResourceStatus": "1 name string,2 resources? []core.ResourceHealth",
  "core.SELinuxOptions": "1 user? string,2 role? string,3 type? string,4 level? string",
  "core.ScaleIOPersistentVolumeSource":
    "1 gateway string,2 system string,3 secretRef core.SecretReference,4 sslEnabled? bool,5 protectionDomain? string,6 storagePool? string,7 storageMode? string,8 volumeName? string,9 fsType? string,10 readOnly? bool",
  "core.ScaleIOVolumeSource":
    "1 gateway string,2 system string,3 secretRef core.LocalObjectReference,4 sslEnabled? bool,5 protectionDomain? string,6 storagePool? string,7 storageMode? string,8 volumeName? string,9 fsType? string,10 readOnly? bool",
  "core.SeccompProfile": "1 type string,2 localhostProfile string",
  "core.Secret":
    "1 metadata? meta.ObjectMeta,5 immutable bool,2 data? {}bytes,4 stringData? {}string,3 type? string",
  "core.SecretEnvSource": "1 ~ core.LocalObjectReference,2 optional bool",
  "core.SecretKeySelector": "1 ~ core.LocalObjectReference,2 key string,3 optional bool",
  "core.SecretProjection": "1 ~ core.LocalObjectReference,2 items? []core.KeyToPath,4 optional bool",
  "core.SecretReference": "1 name? string,2 namespace? string",
  "core.SecretVolumeSource":
    "1 secretName? string,2 items? []core.KeyToPath,3 defaultMode int,4 optional bool",
  "core.SecurityContext":
    "1 capabilities core.Capabilities,2 privileged bool,3 seLinuxOptions core.SELinuxOptions,10 windowsOptions core.WindowsSecurityContextOptions,4 runAsUser int,8 runAsGroup int,5 runAsNonRoot bool,6 readOnlyRootFilesystem bool,7 allowPrivilegeEscalation bool,9 procMount string,11 seccompProfile core.SeccompProfile,12 appArmorProfile core.AppArmorProfile",
  "core.Service": "1 metadata? meta.ObjectMeta,2 spec? core.ServiceSpec,3 status? core.ServiceStatus",
  "core.ServiceAccount":
    "1 metadata? meta.ObjectMeta,2 secrets? []core.ObjectReference,3 imagePullSecrets? []core.LocalObjectReference,4 automountServiceAccountToken bool",
  "core.ServiceAccountTokenProjection": "1 audience? string,2 expirationSeconds int,3 path string",
  "core.ServicePort":
    "1 name? string,2 protocol? string,6 appProtocol string,3 port int,4 targetPort? intorstring,5 nodePort? int",
  "core.ServiceSpec":
    "1 ports? []core.ServicePort,2 selector? {}string,3 clusterIP? string,18 clusterIPs? []string,4 type? string,5 externalIPs? []string,7 sessionAffinity? string,8 loadBalancerIP? string,9 loadBalancerSourceRanges? []string,10 externalName? string,11 externalTrafficPolicy? string,12 healthCheckNodePort? int,13 publishNotReadyAddresses? bool,14 sessionAffinityConfig core.SessionAffinityConfig,19 ipFamilies? []string,17 ipFamilyPolicy string,20 allocateLoadBalancerNodePorts bool,21 loadBalancerClass string,22 internalTrafficPolicy string,23 trafficDistribution string",
  "core.ServiceStatus": "1 loadBalancer? core.LoadBalancerStatus,2 conditions? []meta.Condition",
  "core.SessionAffinityConfig": "1 clientIP core.ClientIPConfig",
  "core.SleepAction": "1 seconds int",
  "core.StorageOSPersistentVolumeSource":
    "1 volumeName? string,2 volumeNamespace? string,3 fsType? string,4 readOnly? bool,5 secretRef core.ObjectReference",
  "core.StorageOSVolumeSource":
    "1 volumeName? string,2 volumeNamespace? string,3 fsType? string,4 readOnly? bool,5 secretRef core.LocalObjectReference",
  "core.Sysctl": "1 name string,2 value string",
  "core.TCPSocketAction": "1 port intorstring,2 host? string",
  "core.Taint": "1 key string,2 value? string,3 effect string,4 timeAdded time",
  "core.Toleration":
    "1 key? string,2 operator? string,3 value? string,4 effect? string,5 tolerationSeconds int",
  "core.TopologySelectorLabelRequirement": "1 key string,2 values []string",
  "core.TopologySelectorTerm": "1 matchLabelExpressions? []core.TopologySelectorLabelRequirement",
  "core.TopologySpreadConstraint":
    "1 maxSkew int,2 topologyKey string,3 whenUnsatisfiable string,4 labelSelector meta.LabelSelector,5 minDomains int,6 nodeAffinityPolicy string,7 nodeTaintsPolicy string,8 matchLabelKeys? []string",
  "core.TypedLocalObjectReference": "1 apiGroup string,2 kind string,3 name string",
  "core.TypedObjectReference": "1 apiGroup string,2 kind string,3 name string,4 namespace string",
  "core.Volume": "1 name string,2 ~ core.VolumeSource",
  "core.VolumeDevice": "1 name string,2 devicePath string",
  "core.VolumeMount":
    "1 name string,2 readOnly? bool,7 recursiveReadOnly string,3 mountPath string,4 subPath? string,5 mountPropagation string,6 subPathExpr? string",
  "core.VolumeMountStatus": "1 name string,2 mountPath string,3 readOnly? bool,4 recursiveReadOnly string",
  "core.VolumeNodeAffinity": "1 required core.NodeSelector",
  "core.VolumeProjection":
    "1 secret core.SecretProjection,2 downwardAPI core.DownwardAPIProjection,3 configMap core.ConfigMapProjection,4 serviceAccountToken core.ServiceAccountTokenProjection,5 clusterTrustBundle core.ClusterTrustBundleProjection,6 podCertificate core.PodCertificateProjection",
  "core.VolumeResourceRequirements": "1 limits? {}quantity,2 requests? {}quantity",
  "core.VolumeSource":
    "1 hostPath core.HostPathVolumeSource,2 emptyDir core.EmptyDirVolumeSource,3 gcePersistentDisk core.GCEPersistentDiskVolumeSource,4 awsElasticBlockStore core.AWSElasticBlockStoreVolumeSource,5 gitRepo core.GitRepoVolumeSource,6 secret core.SecretVolumeSource,7 nfs core.NFSVolumeSource,8 iscsi core.ISCSIVolumeSource,9 glusterfs core.GlusterfsVolumeSource,10 persistentVolumeClaim core.PersistentVolumeClaimVolumeSource,11 rbd core.RBDVolumeSource,12 flexVolume core.FlexVolumeSource,13 cinder core.CinderVolumeSource,14 cephfs core.CephFSVolumeSource,15 flocker core.FlockerVolumeSource,16 downwardAPI core.DownwardAPIVolumeSource,17 fc core.FCVolumeSource,18 azureFile core.AzureFileVolumeSource,19 configMap core.ConfigMapVolumeSource,20 vsphereVolume core.VsphereVirtualDiskVolumeSource,21 quobyte core.QuobyteVolumeSource,22 azureDisk core.AzureDiskVolumeSource,23 photonPersistentDisk core.PhotonPersistentDiskVolumeSource,26 projected core.ProjectedVolumeSource,24 portworxVolume core.PortworxVolumeSource,25 scaleIO core.ScaleIOVolumeSource,27 storageos core.StorageOSVolumeSource,28 csi core.CSIVolumeSource,29 ephemeral core.EphemeralVolumeSource,30 image core.ImageVolumeSource",
  "core.VsphereVirtualDiskVolumeSource":
    "1 volumePath string,2 fsType? string,3 storagePolicyName? string,4 storagePolicyID? string",
  "core.WeightedPodAffinityTerm": "1 weight int,2 podAffinityTerm core.PodAffinityTerm",
  "core.WindowsSecurityContextOptions":
    "1 gmsaCredentialSpecName string,2 gmsaCredentialSpec string,3 runAsUserName string,4 hostProcess bool",
};
