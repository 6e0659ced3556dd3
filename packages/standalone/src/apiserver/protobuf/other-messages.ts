/**
 * The wire format of the other built-in groups in protobuf (k8s.io/api, generated.proto): per message its fields as `number name type`. A `?` after the name:
 * left out of JSON when it has its zero value. `~`: the fields of the message are the parent's own. Types are scalars,
 * messages, `[]` lists and `{}` maps with text keys.
 */
export const OTHER_MESSAGES: Readonly<Record<string, string>> = {
  "apiextensions.CustomResourceColumnDefinition":
    "1 name string,2 type string,3 format? string,4 description? string,5 priority? int,6 jsonPath string",
  "apiextensions.CustomResourceConversion": "1 strategy string,2 webhook apiextensions.WebhookConversion",
  "apiextensions.CustomResourceDefinition":
    "1 metadata? meta.ObjectMeta,2 spec apiextensions.CustomResourceDefinitionSpec,3 status? apiextensions.CustomResourceDefinitionStatus",
  "apiextensions.CustomResourceDefinitionCondition":
    "1 type string,2 status string,3 lastTransitionTime? time,4 reason? string,5 message? string,6 observedGeneration? int",
  "apiextensions.CustomResourceDefinitionNames":
    "1 plural string,2 singular? string,3 shortNames? []string,4 kind string,5 listKind? string,6 categories? []string",
  "apiextensions.CustomResourceDefinitionSpec":
    "1 group string,3 names apiextensions.CustomResourceDefinitionNames,4 scope string,7 versions []apiextensions.CustomResourceDefinitionVersion,9 conversion apiextensions.CustomResourceConversion,10 preserveUnknownFields? bool",
  "apiextensions.CustomResourceDefinitionStatus":
    "1 conditions []apiextensions.CustomResourceDefinitionCondition,2 acceptedNames apiextensions.CustomResourceDefinitionNames,3 storedVersions []string",
  "apiextensions.CustomResourceDefinitionVersion":
    "1 name string,2 served bool,3 storage bool,7 deprecated? bool,8 deprecationWarning string,4 schema apiextensions.CustomResourceValidation,5 subresources apiextensions.CustomResourceSubresources,6 additionalPrinterColumns? []apiextensions.CustomResourceColumnDefinition,9 selectableFields? []apiextensions.SelectableField",
  "apiextensions.CustomResourceSubresourceScale":
    "1 specReplicasPath string,2 statusReplicasPath string,3 labelSelectorPath string",
  "apiextensions.CustomResourceSubresourceStatus": "",
  "apiextensions.CustomResourceSubresources":
    "1 status apiextensions.CustomResourceSubresourceStatus,2 scale apiextensions.CustomResourceSubresourceScale",
  "apiextensions.CustomResourceValidation": "1 openAPIV3Schema apiextensions.JSONSchemaProps",
  "apiextensions.ExternalDocumentation": "1 description? string,2 url? string",
  "apiextensions.JSONSchemaProps":
    "1 id? string,2 $schema? string,3 $ref string,4 description? string,5 type? string,6 format? string,7 title? string,8 default raw,9 maximum double,10 exclusiveMaximum? bool,11 minimum double,12 exclusiveMinimum? bool,13 maxLength int,14 minLength int,15 pattern? string,16 maxItems int,17 minItems int,18 uniqueItems? bool,19 multipleOf double,20 enum? []raw,21 maxProperties int,22 minProperties int,23 required? []string,24 items schemaorarray,25 allOf? []apiextensions.JSONSchemaProps,26 oneOf? []apiextensions.JSONSchemaProps,27 anyOf? []apiextensions.JSONSchemaProps,28 not apiextensions.JSONSchemaProps,29 properties? {}apiextensions.JSONSchemaProps,30 additionalProperties schemaorbool,31 patternProperties? {}apiextensions.JSONSchemaProps,32 dependencies? {}schemaorstrings,33 additionalItems schemaorbool,34 definitions? {}apiextensions.JSONSchemaProps,35 externalDocs apiextensions.ExternalDocumentation,36 example raw,37 nullable? bool,38 x-kubernetes-preserve-unknown-fields bool,39 x-kubernetes-embedded-resource? bool,40 x-kubernetes-int-or-string? bool,41 x-kubernetes-list-map-keys? []string,42 x-kubernetes-list-type string,43 x-kubernetes-map-type string,44 x-kubernetes-validations? []apiextensions.ValidationRule",
  "apiextensions.SelectableField": "1 jsonPath string",
  "apiextensions.ServiceReference": "1 namespace string,2 name string,3 path string,4 port int",
  "apiextensions.ValidationRule":
    "1 rule string,2 message? string,3 messageExpression? string,4 reason string,5 fieldPath? string,6 optionalOldSelf bool",
  "apiextensions.WebhookClientConfig":
    "3 url string,1 service apiextensions.ServiceReference,2 caBundle? bytes",
  "apiextensions.WebhookConversion":
    "2 clientConfig apiextensions.WebhookClientConfig,3 conversionReviewVersions []string",
  "authentication.BoundObjectReference": "1 kind? string,2 apiVersion? string,3 name? string,4 uid? string",
  "authentication.SelfSubjectReview":
    "1 metadata? meta.ObjectMeta,2 status? authentication.SelfSubjectReviewStatus",
  "authentication.SelfSubjectReviewStatus": "1 userInfo? authentication.UserInfo",
  "authentication.TokenRequest":
    "1 metadata? meta.ObjectMeta,2 spec authentication.TokenRequestSpec,3 status? authentication.TokenRequestStatus",
  "authentication.TokenRequestSpec":
    "1 audiences []string,4 expirationSeconds int,3 boundObjectRef authentication.BoundObjectReference",
  "authentication.TokenRequestStatus": "1 token string,2 expirationTimestamp time",
  "authentication.TokenReview":
    "1 metadata? meta.ObjectMeta,2 spec authentication.TokenReviewSpec,3 status? authentication.TokenReviewStatus",
  "authentication.TokenReviewSpec": "1 token? string,2 audiences? []string",
  "authentication.TokenReviewStatus":
    "1 authenticated? bool,2 user? authentication.UserInfo,4 audiences? []string,3 error? string",
  "authentication.UserInfo": "1 username? string,2 uid? string,3 groups? []string,4 extra? {}strings",
  "authorization.FieldSelectorAttributes":
    "1 rawSelector? string,2 requirements? []meta.FieldSelectorRequirement",
  "authorization.LabelSelectorAttributes":
    "1 rawSelector? string,2 requirements? []meta.LabelSelectorRequirement",
  "authorization.LocalSubjectAccessReview":
    "1 metadata? meta.ObjectMeta,2 spec authorization.SubjectAccessReviewSpec,3 status? authorization.SubjectAccessReviewStatus",
  "authorization.NonResourceAttributes": "1 path? string,2 verb? string",
  "authorization.NonResourceRule": "1 verbs []string,2 nonResourceURLs? []string",
  "authorization.ResourceAttributes":
    "1 namespace? string,2 verb? string,3 group? string,4 version? string,5 resource? string,6 subresource? string,7 name? string,8 fieldSelector authorization.FieldSelectorAttributes,9 labelSelector authorization.LabelSelectorAttributes",
  "authorization.ResourceRule":
    "1 verbs []string,2 apiGroups? []string,3 resources? []string,4 resourceNames? []string",
  "authorization.SelfSubjectAccessReview":
    "1 metadata? meta.ObjectMeta,2 spec authorization.SelfSubjectAccessReviewSpec,3 status? authorization.SubjectAccessReviewStatus",
  "authorization.SelfSubjectAccessReviewSpec":
    "1 resourceAttributes authorization.ResourceAttributes,2 nonResourceAttributes authorization.NonResourceAttributes",
  "authorization.SelfSubjectRulesReview":
    "1 metadata? meta.ObjectMeta,2 spec authorization.SelfSubjectRulesReviewSpec,3 status? authorization.SubjectRulesReviewStatus",
  "authorization.SelfSubjectRulesReviewSpec": "1 namespace? string",
  "authorization.SubjectAccessReview":
    "1 metadata? meta.ObjectMeta,2 spec authorization.SubjectAccessReviewSpec,3 status? authorization.SubjectAccessReviewStatus",
  "authorization.SubjectAccessReviewSpec":
    "1 resourceAttributes authorization.ResourceAttributes,2 nonResourceAttributes authorization.NonResourceAttributes,3 user? string,4 groups? []string,5 extra? {}strings,6 uid? string",
  "authorization.SubjectAccessReviewStatus":
    "1 allowed bool,4 denied? bool,2 reason? string,3 evaluationError? string",
  "authorization.SubjectRulesReviewStatus":
    "1 resourceRules []authorization.ResourceRule,2 nonResourceRules []authorization.NonResourceRule,3 incomplete bool,4 evaluationError? string",
  "autoscaling.Scale":
    "1 metadata? meta.ObjectMeta,2 spec? autoscaling.ScaleSpec,3 status? autoscaling.ScaleStatus",
  "autoscaling.ScaleSpec": "1 replicas? int",
  "autoscaling.ScaleStatus": "1 replicas int,2 selector? string",
  "coordination.Lease": "1 metadata? meta.ObjectMeta,2 spec? coordination.LeaseSpec",
  "coordination.LeaseSpec":
    "1 holderIdentity string,2 leaseDurationSeconds int,3 acquireTime microtime,4 renewTime microtime,5 leaseTransitions int,6 strategy string,7 preferredHolder string",
  "events.Event":
    "1 metadata meta.ObjectMeta,2 eventTime microtime,3 series events.EventSeries,4 reportingController? string,5 reportingInstance? string,6 action? string,7 reason? string,8 regarding? core.ObjectReference,9 related core.ObjectReference,10 note? string,11 type? string,12 deprecatedSource? core.EventSource,13 deprecatedFirstTimestamp? time,14 deprecatedLastTimestamp? time,15 deprecatedCount? int",
  "events.EventSeries": "1 count int,2 lastObservedTime microtime",
  "meta.Condition":
    "1 type string,2 status string,3 observedGeneration? int,4 lastTransitionTime time,5 reason string,6 message string",
  "meta.DeleteOptions":
    "1 gracePeriodSeconds int,2 preconditions meta.Preconditions,3 orphanDependents bool,4 propagationPolicy string,5 dryRun? []string,6 ignoreStoreReadErrorWithClusterBreakingPotential bool",
  "meta.FieldSelectorRequirement": "1 key string,2 operator string,3 values? []string",
  "meta.LabelSelector": "1 matchLabels? {}string,2 matchExpressions? []meta.LabelSelectorRequirement",
  "meta.LabelSelectorRequirement": "1 key string,2 operator string,3 values? []string",
  "meta.ManagedFieldsEntry":
    "1 manager? string,2 operation? string,3 apiVersion? string,4 time time,6 fieldsType? string,7 fieldsV1 raw,8 subresource? string",
  "meta.ObjectMeta":
    "1 name? string,2 generateName? string,3 namespace? string,4 selfLink? string,5 uid? string,6 resourceVersion? string,7 generation? int,8 creationTimestamp? time,9 deletionTimestamp time,10 deletionGracePeriodSeconds int,11 labels? {}string,12 annotations? {}string,13 ownerReferences? []meta.OwnerReference,14 finalizers? []string,17 managedFields? []meta.ManagedFieldsEntry",
  "meta.OwnerReference":
    "5 apiVersion string,1 kind string,3 name string,4 uid string,6 controller bool,7 blockOwnerDeletion bool",
  "meta.Preconditions": "1 uid string,2 resourceVersion string",
  "policy.Eviction": "1 metadata? meta.ObjectMeta,2 deleteOptions meta.DeleteOptions",
  "rbac.AggregationRule": "1 clusterRoleSelectors? []meta.LabelSelector",
  "rbac.ClusterRole":
    "1 metadata? meta.ObjectMeta,2 rules []rbac.PolicyRule,3 aggregationRule rbac.AggregationRule",
  "rbac.ClusterRoleBinding": "1 metadata? meta.ObjectMeta,2 subjects? []rbac.Subject,3 roleRef rbac.RoleRef",
  "rbac.PolicyRule":
    "1 verbs []string,2 apiGroups? []string,3 resources? []string,4 resourceNames? []string,5 nonResourceURLs? []string",
  "rbac.Role": "1 metadata? meta.ObjectMeta,2 rules []rbac.PolicyRule",
  "rbac.RoleBinding": "1 metadata? meta.ObjectMeta,2 subjects? []rbac.Subject,3 roleRef rbac.RoleRef",
  "rbac.RoleRef": "1 apiGroup string,2 kind string,3 name string",
  "rbac.Subject": "1 kind string,2 apiGroup? string,3 name string,4 namespace? string",
  "storage.CSIDriver": "1 metadata? meta.ObjectMeta,2 spec storage.CSIDriverSpec",
  "storage.CSIDriverSpec":
    "1 attachRequired bool,2 podInfoOnMount bool,3 volumeLifecycleModes? []string,4 storageCapacity bool,5 fsGroupPolicy string,6 tokenRequests? []storage.TokenRequest,7 requiresRepublish bool,8 seLinuxMount bool,9 nodeAllocatableUpdatePeriodSeconds int,10 serviceAccountTokenInSecrets bool",
  "storage.CSINode": "1 metadata? meta.ObjectMeta,2 spec storage.CSINodeSpec",
  "storage.CSINodeDriver":
    "1 name string,2 nodeID string,3 topologyKeys []string,4 allocatable storage.VolumeNodeResources",
  "storage.CSINodeSpec": "1 drivers []storage.CSINodeDriver",
  "storage.CSIStorageCapacity":
    "1 metadata? meta.ObjectMeta,2 nodeTopology meta.LabelSelector,3 storageClassName string,4 capacity quantity,5 maximumVolumeSize quantity",
  "storage.StorageClass":
    "1 metadata? meta.ObjectMeta,2 provisioner string,3 parameters? {}string,4 reclaimPolicy string,5 mountOptions? []string,6 allowVolumeExpansion bool,7 volumeBindingMode string,8 allowedTopologies? []core.TopologySelectorTerm",
  "storage.TokenRequest": "1 audience string,2 expirationSeconds int",
  "storage.VolumeAttachment":
    "1 metadata? meta.ObjectMeta,2 spec storage.VolumeAttachmentSpec,3 status? storage.VolumeAttachmentStatus",
  "storage.VolumeAttachmentSource":
    "1 persistentVolumeName string,2 inlineVolumeSpec core.PersistentVolumeSpec",
  "storage.VolumeAttachmentSpec":
    "1 attacher string,2 source storage.VolumeAttachmentSource,3 nodeName string",
  "storage.VolumeAttachmentStatus":
    "1 attached bool,2 attachmentMetadata? {}string,3 attachError storage.VolumeError,4 detachError storage.VolumeError",
  "storage.VolumeAttributesClass": "1 metadata? meta.ObjectMeta,2 driverName string,3 parameters? {}string",
  "storage.VolumeError": "1 time? time,2 message? string,3 errorCode int",
  "storage.VolumeNodeResources": "1 count int",
};
