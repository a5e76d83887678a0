// All other functions of the runtime: they are there, so that programs link, say once that they are not supported, and return that.
#include "simtlab_cuda.h"

#define ALL_OTHERS \
    X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) X(cudaArrayGetSparseProperties) X(cudaBindSurfaceToArray) \
    X(cudaBindTexture) X(cudaBindTexture2D) X(cudaBindTextureToArray) X(cudaBindTextureToMipmappedArray) \
    X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore) X(cudaDeviceFlushGPUDirectRDMAWrites) \
    X(cudaDeviceGetGraphMemAttribute) X(cudaDeviceGetHostAtomicCapabilities) X(cudaDeviceGetNvSciSyncAttributes) \
    X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetP2PAttribute) X(cudaDeviceGetTexture1DLinearMaxWidth) \
    X(cudaDeviceGraphMemTrim) X(cudaDeviceRegisterAsyncNotification) X(cudaDeviceSetGraphMemAttribute) \
    X(cudaDeviceUnregisterAsyncNotification) X(cudaEGLStreamConsumerAcquireFrame) X(cudaEGLStreamConsumerConnect) \
    X(cudaEGLStreamConsumerConnectWithFlags) X(cudaEGLStreamConsumerDisconnect) X(cudaEGLStreamConsumerReleaseFrame) \
    X(cudaEGLStreamProducerConnect) X(cudaEGLStreamProducerDisconnect) X(cudaEGLStreamProducerPresentFrame) \
    X(cudaEGLStreamProducerReturnFrame) X(cudaEventCreateFromEGLSync) X(cudaExternalMemoryGetMappedBuffer) \
    X(cudaExternalMemoryGetMappedMipmappedArray) X(cudaFreeMipmappedArray) X(cudaFuncGetName) X(cudaFuncGetParamInfo) \
    X(cudaGLGetDevices) X(cudaGLMapBufferObject) X(cudaGLMapBufferObjectAsync) X(cudaGLRegisterBufferObject) \
    X(cudaGLSetBufferObjectMapFlags) X(cudaGLSetGLDevice) X(cudaGLUnmapBufferObject) X(cudaGLUnmapBufferObjectAsync) \
    X(cudaGLUnregisterBufferObject) X(cudaGetDriverEntryPoint) X(cudaGetDriverEntryPointByVersion) X(cudaGetExportTable) \
    X(cudaGetFuncBySymbol) X(cudaGetMipmappedArrayLevel) X(cudaGetSurfaceObjectResourceDesc) X(cudaGetSurfaceReference) \
    X(cudaGetTextureAlignmentOffset) X(cudaGetTextureObjectResourceDesc) X(cudaGetTextureObjectResourceViewDesc) \
    X(cudaGetTextureObjectTextureDesc) X(cudaGetTextureReference) X(cudaGraphAddChildGraphNode) X(cudaGraphAddDependencies) \
    X(cudaGraphAddDependencies_v2) X(cudaGraphAddEmptyNode) X(cudaGraphAddEventRecordNode) X(cudaGraphAddEventWaitNode) \
    X(cudaGraphAddExternalSemaphoresSignalNode) X(cudaGraphAddExternalSemaphoresWaitNode) X(cudaGraphAddHostNode) \
    X(cudaGraphAddKernelNode) X(cudaGraphAddMemAllocNode) X(cudaGraphAddMemFreeNode) X(cudaGraphAddMemcpyNode) \
    X(cudaGraphAddMemcpyNode1D) X(cudaGraphAddMemcpyNodeFromSymbol) X(cudaGraphAddMemcpyNodeToSymbol) \
    X(cudaGraphAddMemsetNode) X(cudaGraphAddNode) X(cudaGraphAddNode_v2) X(cudaGraphChildGraphNodeGetGraph) X(cudaGraphClone) \
    X(cudaGraphConditionalHandleCreate) X(cudaGraphCreate) X(cudaGraphDebugDotPrint) X(cudaGraphDestroy) \
    X(cudaGraphDestroyNode) X(cudaGraphEventRecordNodeGetEvent) X(cudaGraphEventRecordNodeSetEvent) \
    X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent) X(cudaGraphExecChildGraphNodeSetParams) \
    X(cudaGraphExecDestroy) X(cudaGraphExecEventRecordNodeSetEvent) X(cudaGraphExecEventWaitNodeSetEvent) \
    X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) X(cudaGraphExecExternalSemaphoresWaitNodeSetParams) \
    X(cudaGraphExecGetFlags) X(cudaGraphExecHostNodeSetParams) X(cudaGraphExecKernelNodeSetParams) \
    X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParams1D) X(cudaGraphExecMemcpyNodeSetParamsFromSymbol) \
    X(cudaGraphExecMemcpyNodeSetParamsToSymbol) X(cudaGraphExecMemsetNodeSetParams) X(cudaGraphExecNodeSetParams) \
    X(cudaGraphExecUpdate) X(cudaGraphExternalSemaphoresSignalNodeGetParams) X(cudaGraphExternalSemaphoresSignalNodeSetParams) \
    X(cudaGraphExternalSemaphoresWaitNodeGetParams) X(cudaGraphExternalSemaphoresWaitNodeSetParams) X(cudaGraphGetEdges) \
    X(cudaGraphGetEdges_v2) X(cudaGraphGetNodes) X(cudaGraphGetRootNodes) X(cudaGraphHostNodeGetParams) \
    X(cudaGraphHostNodeSetParams) X(cudaGraphInstantiate) X(cudaGraphInstantiateWithFlags) X(cudaGraphInstantiateWithParams) \
    X(cudaGraphKernelNodeCopyAttributes) X(cudaGraphKernelNodeGetAttribute) X(cudaGraphKernelNodeGetParams) \
    X(cudaGraphKernelNodeGetParams_v2) X(cudaGraphKernelNodeSetAttribute) X(cudaGraphKernelNodeSetParams) X(cudaGraphLaunch) \
    X(cudaGraphMemAllocNodeGetParams) X(cudaGraphMemFreeNodeGetParams) X(cudaGraphMemcpyNodeGetParams) \
    X(cudaGraphMemcpyNodeSetParams) X(cudaGraphMemcpyNodeSetParams1D) X(cudaGraphMemcpyNodeSetParamsFromSymbol) \
    X(cudaGraphMemcpyNodeSetParamsToSymbol) X(cudaGraphMemsetNodeGetParams) X(cudaGraphMemsetNodeSetParams) \
    X(cudaGraphNodeFindInClone) X(cudaGraphNodeGetDependencies) X(cudaGraphNodeGetDependencies_v2) \
    X(cudaGraphNodeGetDependentNodes) X(cudaGraphNodeGetDependentNodes_v2) X(cudaGraphNodeGetEnabled) X(cudaGraphNodeGetType) \
    X(cudaGraphNodeSetEnabled) X(cudaGraphNodeSetParams) X(cudaGraphReleaseUserObject) X(cudaGraphRemoveDependencies) \
    X(cudaGraphRemoveDependencies_v2) X(cudaGraphRetainUserObject) X(cudaGraphUpload) X(cudaGraphicsEGLRegisterImage) \
    X(cudaGraphicsGLRegisterBuffer) X(cudaGraphicsGLRegisterImage) X(cudaGraphicsMapResources) \
    X(cudaGraphicsResourceGetMappedEglFrame) X(cudaGraphicsResourceGetMappedMipmappedArray) \
    X(cudaGraphicsResourceGetMappedPointer) X(cudaGraphicsResourceSetMapFlags) X(cudaGraphicsSubResourceGetMappedArray) \
    X(cudaGraphicsUnmapResources) X(cudaGraphicsUnregisterResource) X(cudaGraphicsVDPAURegisterOutputSurface) \
    X(cudaGraphicsVDPAURegisterVideoSurface) X(cudaImportExternalMemory) X(cudaImportExternalSemaphore) \
    X(cudaIpcCloseMemHandle) X(cudaIpcGetEventHandle) X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) X(cudaIpcOpenMemHandle) \
    X(cudaKernelSetAttributeForDevice) X(cudaLaunchCooperativeKernelMultiDevice) X(cudaLibraryEnumerateKernels) \
    X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount) X(cudaLibraryGetManaged) \
    X(cudaLibraryGetUnifiedFunction) X(cudaLibraryLoadData) X(cudaLibraryLoadFromFile) X(cudaLibraryUnload) X(cudaLogsCurrent) \
    X(cudaLogsDumpToFile) X(cudaLogsDumpToMemory) X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback) \
    X(cudaMallocMipmappedArray) X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardBatchAsync) X(cudaMemGetDefaultMemPool) \
    X(cudaMemGetMemPool) X(cudaMemPoolCreate) X(cudaMemPoolDestroy) X(cudaMemPoolExportPointer) \
    X(cudaMemPoolExportToShareableHandle) X(cudaMemPoolGetAccess) X(cudaMemPoolGetAttribute) \
    X(cudaMemPoolImportFromShareableHandle) X(cudaMemPoolImportPointer) X(cudaMemPoolSetAccess) X(cudaMemPrefetchBatchAsync) \
    X(cudaMemRangeGetAttribute) X(cudaMemRangeGetAttributes) X(cudaMemSetMemPool) X(cudaMemcpy3DBatchAsync) \
    X(cudaMemcpy3DPeer) X(cudaMemcpy3DPeerAsync) X(cudaMemcpyArrayToArray) X(cudaMemcpyBatchAsync) X(cudaMemset3DAsync) \
    X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties) X(cudaOccupancyMaxActiveClusters) \
    X(cudaOccupancyMaxPotentialClusterSize) X(cudaSignalExternalSemaphoresAsync) X(cudaStreamBeginCapture) \
    X(cudaStreamBeginCaptureToGraph) X(cudaStreamCopyAttributes) X(cudaStreamEndCapture) X(cudaStreamGetAttribute) \
    X(cudaStreamGetCaptureInfo) X(cudaStreamGetCaptureInfo_v2) X(cudaStreamGetCaptureInfo_v3) X(cudaStreamGetDevice) \
    X(cudaStreamGetId) X(cudaStreamSetAttribute) X(cudaStreamUpdateCaptureDependencies) \
    X(cudaStreamUpdateCaptureDependencies_v2) X(cudaThreadExchangeStreamCaptureMode) X(cudaUnbindTexture) \
    X(cudaUserObjectCreate) X(cudaUserObjectRelease) X(cudaUserObjectRetain) X(cudaVDPAUGetDevice) X(cudaVDPAUSetVDPAUDevice) \
    X(cudaWaitExternalSemaphoresAsync)

#define X(name) cudaError name(void) { return unsupported(#name); }
ALL_OTHERS
