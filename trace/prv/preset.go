package prv

// presets are PAPI's preset events in the order of their numbers (papiStdEventDefs.h of PAPI 7): the number is the
// event code's low 16 bits.
var presets = [...]string{
	"L1_DCM", "L1_ICM", "L2_DCM", "L2_ICM", "L3_DCM", "L3_ICM", "L1_TCM", "L2_TCM", "L3_TCM", "CA_SNP",
	"CA_SHR", "CA_CLN", "CA_INV", "CA_ITV", "L3_LDM", "L3_STM", "BRU_IDL", "FXU_IDL", "FPU_IDL", "LSU_IDL",
	"TLB_DM", "TLB_IM", "TLB_TL", "L1_LDM", "L1_STM", "L2_LDM", "L2_STM", "BTAC_M", "PRF_DM", "L3_DCH",
	"TLB_SD", "CSR_FAL", "CSR_SUC", "CSR_TOT", "MEM_SCY", "MEM_RCY", "MEM_WCY", "STL_ICY", "FUL_ICY", "STL_CCY",
	"FUL_CCY", "HW_INT", "BR_UCN", "BR_CN", "BR_TKN", "BR_NTK", "BR_MSP", "BR_PRC", "FMA_INS", "TOT_IIS",
	"TOT_INS", "INT_INS", "FP_INS", "LD_INS", "SR_INS", "BR_INS", "VEC_INS", "RES_STL", "FP_STAL", "TOT_CYC",
	"LST_INS", "SYC_INS", "L1_DCH", "L2_DCH", "L1_DCA", "L2_DCA", "L3_DCA", "L1_DCR", "L2_DCR", "L3_DCR",
	"L1_DCW", "L2_DCW", "L3_DCW", "L1_ICH", "L2_ICH", "L3_ICH", "L1_ICA", "L2_ICA", "L3_ICA", "L1_ICR",
	"L2_ICR", "L3_ICR", "L1_ICW", "L2_ICW", "L3_ICW", "L1_TCH", "L2_TCH", "L3_TCH", "L1_TCA", "L2_TCA",
	"L3_TCA", "L1_TCR", "L2_TCR", "L3_TCR", "L1_TCW", "L2_TCW", "L3_TCW", "FML_INS", "FAD_INS", "FDV_INS",
	"FSQ_INS", "FNV_INS", "FP_OPS", "SP_OPS", "DP_OPS", "VEC_SP", "VEC_DP", "REF_CYC",
}

const presetPrefix = "PAPI_"

var presetNumber = func() map[string]uint32 {
	m := make(map[string]uint32, len(presets))
	for i, name := range presets {
		m[presetPrefix+name] = uint32(i)
	}
	return m
}()

func presetType(name string) (eventType uint32, ok bool) {
	n, ok := presetNumber[name]
	return typePreset + n, ok
}

func presetName(eventType uint32) (name string, ok bool) {
	if n := eventType - typePreset; n < uint32(len(presets)) {
		return presetPrefix + presets[n], true
	}
	return "", false
}
